"""The plain page at /: what this is, how to connect, and what it hears by whose leave."""

import re
from base64 import b64encode
from hashlib import sha256
from html import escape

from models.perception import coverage, labels
from models.protocols import Perceiver

_PAGE = """<!doctype html>
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
  footer { margin-top: 3rem; font-size: .85rem; opacity: .75; }
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
<!-- footer -->
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


def policy(html: str) -> str:
    """What the page may do: run the script that is written in it, and ask us."""
    hashes = {
        tag: b64encode(sha256(text.encode()).digest()).decode()
        for tag, text in re.findall(r"<(style|script)>(.*?)</\1>", html, re.DOTALL)
    }
    return (
        f"default-src 'none'; script-src 'sha256-{hashes['script']}'; "
        f"style-src 'sha256-{hashes['style']}'; connect-src 'self'; img-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    )


def page(perceiver: Perceiver) -> str:
    """The page, which names the perceiver's weights and their licence where it has any."""
    weights: str | None = getattr(perceiver, "weights", None)
    licence: str | None = getattr(perceiver, "licence", None)
    lines = []
    if weights in coverage.WEIGHTS:
        lines.append(f"With the {weights} weights it hears {', '.join(heard(weights))}.")
    if licence:
        lines.append(f"Licence of the perception weights: {licence}.")
    shown = "<br>\n".join(map(escape, lines))
    return _PAGE.replace("<!-- footer -->\n", f"<footer>{shown}</footer>\n" if lines else "")


def heard(weights: str) -> list[str]:
    """Which of the taxonomy's attributes these weights can hear."""
    return [
        row.attribute
        for row in coverage.load()
        if row.covers[weights].how.heard
        and row.dimension in labels.DIMENSIONS
        and row.attribute in labels.DIMENSIONS[row.dimension].attributes
    ]
