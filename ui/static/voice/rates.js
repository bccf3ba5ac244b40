/** The rates and sizes that page and server agree on. */

export const WIRE_RATE = 24000;
export const FRAME = 960; // samples captured at a time: 40 ms
