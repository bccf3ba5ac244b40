"""The plain page at /: what this is and how to connect."""

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Attune</title>
<style>
  :root { color-scheme: light dark; }
  body { font: 17px/1.6 system-ui, sans-serif;
         max-width: 46rem; margin: 10vh auto; padding: 0 1.5rem; }
  h1 { font-weight: 600; letter-spacing: -0.02em; margin-bottom: 0; }
  .lead { font-size: 1.15rem; opacity: .75; margin-top: .3rem; }
  pre { padding: 1rem 1.2rem; border-radius: 10px; overflow-x: auto; font-size: .9rem;
        background: color-mix(in srgb, CanvasText 7%, Canvas); }
  code { font-family: ui-monospace, monospace; }
  #state { display: inline-block; padding: .1rem .7rem; border-radius: 1rem; font-size: .9rem;
           background: color-mix(in srgb, seagreen 20%, Canvas); }
</style>
<h1>Attune</h1>
<p class="lead">A voice conversation server that hears how you speak.</p>
<p><span id="state">looking&hellip;</span></p>
<p>It speaks the OpenAI Realtime protocol on <code id="url">/v1/realtime</code>.
   Send it a recording and hear the answer:</p>
<pre><code>.venv/bin/python -m server.client question.wav --out reply.wav</code></pre>
<p>Or point any Realtime client at it:</p>
<pre><code>from openai import AsyncOpenAI

client = AsyncOpenAI(api_key="none", base_url="<span class="base"></span>/v1")
async with client.realtime.connect(model="attune") as connection:
    ...</code></pre>
<script>
  const ws = location.protocol === "https:" ? "wss:" : "ws:";
  document.getElementById("url").textContent = ws + "//" + location.host + "/v1/realtime";
  document.querySelector(".base").textContent = location.origin;
  fetch("/ready").then(r => r.json()).then(s => {
    document.getElementById("state").textContent =
      s.ready ? "ready, profile " + s.profile : "getting ready";
  }).catch(() => { document.getElementById("state").textContent = "not reachable"; });
</script>
</html>
"""
