/**
 * What of a reply was heard: its words by the samples that sounded.
 *
 * @typedef {{begin: number, text: string}} Piece words, and the sample at which they begin
 */

/**
 * The words that had sounded by a sample, as the server counts them.
 *
 * @param {Piece[]} pieces in the order they are spoken
 * @param {number} end the sample at which the last piece ends
 * @param {number} sample
 * @returns {string}
 */
export function wordsUntil(pieces, end, sample) {
  const said = pieces.map(({ begin, text }, place) => {
    const over = pieces[place + 1]?.begin ?? end;
    if (over <= sample) return text;
    if (begin >= sample) return "";
    const words = text.split(" ");
    const share = (sample - begin) / (over - begin);
    return words.slice(0, Math.floor(words.length * share)).join(" ");
  });
  return said.join("").trim();
}

/**
 * What follows the heard words in the whole text.
 *
 * @param {string} whole
 * @param {string} heard
 * @returns {string}
 */
export function restOf(whole, heard) {
  const full = whole.trim();
  const begun = heard.trim();
  if (full.startsWith(begun)) return full.slice(begun.length).trim();
  const words = full.split(/\s+/);
  const known = begun.split(/\s+/);
  const differs = known.findIndex((word, place) => word !== words[place]);
  return words.slice(differs < 0 ? known.length : differs).join(" ");
}
