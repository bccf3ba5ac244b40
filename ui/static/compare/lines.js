/** JSON lines as they come over the network, whatever pieces they come in. Pure. */

/**
 * @param {AsyncIterable<Uint8Array>} pieces
 * @returns {AsyncGenerator<any>} each line's object
 */
export async function* jsonLines(pieces) {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of pieces) {
    rest += decoder.decode(piece, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop();
    for (const line of lines) if (line.trim()) yield JSON.parse(line);
  }
  rest += decoder.decode();
  if (rest.trim()) yield JSON.parse(rest);
}

/** A response's body piece by piece; not every browser can iterate over it. @param {Response} response */
export async function* piecesOf(response) {
  const reader = response.body.getReader();
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
