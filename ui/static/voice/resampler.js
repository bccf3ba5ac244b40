/** Another sample rate for a stream that comes in blocks: windowed sinc, in phases. Pure. */

const ZEROS = 32; // zero crossings of the sinc on either side
const ROLL_OFF = 0.94; // of the lower rate's band: what is above must not fold back
const BETA = 8; // of the Kaiser window: the stop band lies 80 dB down

/**
 * Keeps time: output sample k belongs at the input's k × from / to, to the first and the last.
 * A sample comes out as soon as the `reach` input samples after it are there.
 */
export class Resampler {
  #step; // input samples from one output sample to the next: whole ones and parts
  #parts;
  #reach;
  #kernels = [];
  #kept = new Float32Array(0); // input still needed, the first belongs `reach` before #place
  #part = 0;
  #made = new Float32Array(256);
  #taken = 0;
  #given = 0;

  /** @param {number} from Hz @param {number} to Hz */
  constructor(from, to) {
    const common = divisor(from, to);
    this.#step = from / common;
    this.#parts = to / common;
    const band = Math.min(1, to / from) * ROLL_OFF;
    this.#reach = from === to ? 0 : Math.ceil(ZEROS / band);
    for (let part = 0; part < this.#parts; part += 1) {
      this.#kernels.push(kernel(part / this.#parts, this.#reach, band));
    }
    this.#kept = new Float32Array(this.#reach);
  }

  /**
   * @param {Float32Array} input the next block, of any length
   * @returns {Float32Array} what it makes possible; to be used before the next call
   */
  process(input) {
    if (this.#reach === 0) return input;
    this.#taken += input.length;
    return this.#run(input);
  }

  /** @returns {Float32Array} the rest, when nothing more will come */
  flush() {
    if (this.#reach === 0) return new Float32Array(0);
    const due = Math.ceil((this.#taken * this.#parts) / this.#step) - this.#given;
    return this.#run(new Float32Array(this.#reach + 1)).slice(0, due);
  }

  #run(input) {
    const kept = new Float32Array(this.#kept.length + input.length);
    kept.set(this.#kept);
    kept.set(input, this.#kept.length);
    const span = 2 * this.#reach + 1;
    const most = Math.ceil(((kept.length + 1) * this.#parts) / this.#step) + 1;
    if (this.#made.length < most) this.#made = new Float32Array(most);
    let begin = 0;
    let made = 0;
    while (begin + span <= kept.length) {
      const weights = this.#kernels[this.#part];
      let sum = 0;
      for (let tap = 0; tap < span; tap += 1) sum += weights[tap] * kept[begin + tap];
      this.#made[made] = sum;
      made += 1;
      this.#part += this.#step;
      begin += Math.floor(this.#part / this.#parts);
      this.#part %= this.#parts;
    }
    this.#kept = kept.slice(begin);
    this.#given += made;
    return this.#made.subarray(0, made);
  }
}

function kernel(part, reach, band) {
  const weights = new Float32Array(2 * reach + 1);
  let sum = 0;
  for (let tap = 0; tap < weights.length; tap += 1) {
    const away = tap - reach - part;
    weights[tap] = sinc(away * band) * band * window(away / (reach + 1));
    sum += weights[tap];
  }
  return weights.map((weight) => weight / sum); // so that a constant stays what it is
}

function sinc(x) {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

function window(x) {
  return Math.abs(x) >= 1 ? 0 : bessel(BETA * Math.sqrt(1 - x * x)) / bessel(BETA);
}

function bessel(x) {
  let term = 1;
  let sum = 1;
  for (let n = 1; term > sum * 1e-12; n += 1) {
    term *= (x / (2 * n)) ** 2;
    sum += term;
  }
  return sum;
}

function divisor(a, b) {
  return b === 0 ? a : divisor(b, a % b);
}
