// Put into a page before its own scripts: hears what its player gives the loudspeaker, and
// when it was told to hold.
(() => {
  const heard = { rate: 0, pieces: [], holds: [] };
  window.heard = heard;
  let context = null;
  const tap = `registerProcessor("tap", class extends AudioWorkletProcessor {
    process([input]) { if (input[0]) this.port.postMessage([currentFrame, input[0].slice()]); return true; }
  });`;
  const address = URL.createObjectURL(new Blob([tap], { type: "text/javascript" }));
  const connect = AudioNode.prototype.connect;
  AudioNode.prototype.connect = function (to, ...rest) {
    if (this instanceof AudioWorkletNode) listen(this, this.context); // what answers, not what speaks as the user
    return connect.call(this, to, ...rest);
  };
  async function listen(node, its) {
    context = its;
    heard.rate = its.sampleRate;
    await its.audioWorklet.addModule(address);
    const ear = new AudioWorkletNode(its, "tap", { numberOfOutputs: 0 });
    ear.port.onmessage = ({ data: [frame, samples] }) => heard.pieces.push([frame, samples]);
    connect.call(node, ear);
  }
  const Socket = window.WebSocket;
  window.WebSocket = class extends Socket {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", ({ data }) => {
        if (typeof data !== "string" || !data.includes('"attune.hold"')) return;
        if (JSON.parse(data).type === "attune.hold") heard.holds.push(context.currentTime);
      });
    }
  };
  // All that sounded so far, in one piece, as PCM16 in base64.
  window.sounded = () => {
    const end = Math.max(0, ...heard.pieces.map(([frame, samples]) => frame + samples.length));
    const pcm = new Int16Array(end);
    for (const [frame, samples] of heard.pieces) {
      samples.forEach((sample, at) => { pcm[frame + at] = Math.round(Math.max(-1, Math.min(1, sample)) * 32767); });
    }
    let text = "";
    const bytes = new Uint8Array(pcm.buffer);
    for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    return { pcm: btoa(text), rate: heard.rate, holds: heard.holds };
  };
})();
