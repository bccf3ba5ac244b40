/** The keys of a conversation somebody left by leaving the page, so that it can still be deleted. */

const KEPT = "attune.talked"; // until the tab is closed

/** @param {{id: string, secret: string}[]} sessions */
export function keepAtHand(sessions) {
  const told = JSON.stringify(sessions.map(({ id, secret }) => ({ id, secret })));
  try {
    if (sessions.length === 0) sessionStorage.removeItem(KEPT);
    else if (sessionStorage.getItem(KEPT) !== told) sessionStorage.setItem(KEPT, told);
  } catch {
    // storage is forbidden here: the closing view still has them
  }
}

/** @returns {{id: string, secret: string}[]} */
export function leftBehind() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
    return Array.isArray(kept) ? kept.filter(({ id, secret }) => id && secret) : [];
  } catch {
    return [];
  }
}
