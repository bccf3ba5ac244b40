/** What this page asks of the server. */

import { api, operator } from "../core/api.js";
import { outline } from "./outline.js";

const ask = (path, options = {}) => api(`/api/sessions${path}`, { ...options, token: operator.token });

/** A page of summaries. @returns {Promise<{sessions: object[], total: number}>} */
export const listed = (query, signal) => ask(`?${query}`, { signal });

/** All that is known of one. */
export const session = (id, signal) => ask(`/${id}`, { signal });
export const story = (id, signal) => ask(`/${id}/story`, { signal });

export async function waveform(id, start, end, points, signal) {
  const stretch = end === null ? "" : `&start=${start}&end=${end}`;
  return outline(await ask(`/${id}/waveform?points=${points}${stretch}`, { signal }));
}

/** @returns {Promise<ImageBitmap>} */
export async function spectrogram(id, channel, start, end, width, look, signal) {
  const query = new URLSearchParams({ channel, start, end, width, height: 160, look });
  const answer = await ask(`/${id}/spectrogram?${query}`, { raw: true, signal });
  return createImageBitmap(await answer.blob());
}

/** @returns {Promise<ArrayBuffer>} a WAV file */
export async function clip(id, start, end, channel, signal) {
  const query = new URLSearchParams({ start, end, channel });
  const answer = await ask(`/${id}/clip?${query}`, { raw: true, signal });
  return answer.arrayBuffer();
}

export const annotate = (id, notes) => ask(`/${id}/notes`, { method: "PUT", json: notes });
export const remove = (id) => ask(`/${id}`, { method: "DELETE" });

/** Save one of a session's files where the browser saves things. */
export async function save(id, what, name) {
  const answer = await ask(`/${id}/${what}`, { raw: true });
  const address = URL.createObjectURL(await answer.blob());
  const link = document.createElement("a");
  Object.assign(link, { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Reports that hold scores of this session; none where nothing was scored. */
export async function scores(id, signal) {
  const told = (path) => api(path, { token: operator.token, signal });
  const { reports } = await told("/api/reports");
  const found = await Promise.all(reports.slice(0, 5).map(async (report) => {
    const name = encodeURIComponent(report.name);
    const { exchanges } = await told(`/api/reports/${name}/exchanges?session_id=${id}&limit=200`);
    return { report, exchanges };
  }));
  return found.filter(({ exchanges }) => exchanges.length);
}
