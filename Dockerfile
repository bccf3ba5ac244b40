# Attune on the CPU, with its weights inside: docker build -t attune . && docker run -p 7860:7860 attune
FROM python:3.11-slim

# llama.cpp's wheel expects the system's OpenMP.
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home attune
WORKDIR /app

# What changes least comes first, so that a change of code rebuilds neither packages nor weights.
COPY pyproject.toml README.md ./
RUN pip install --no-cache-dir -e .

ENV ATTUNE_CACHE=/opt/attune
COPY models/__init__.py models/weights.py models/
RUN python -m models.weights

COPY models models
COPY server server
COPY ui ui
COPY profiles profiles

# Recorded sessions outlive the container if a volume is mounted here.
ENV ATTUNE_RECORDING__RUNS=/data/runs
RUN install -d -o attune /data
VOLUME /data

USER attune
# Inside a container the loopback is the container's own; publish the port to choose who may reach it.
# Without tokens of your own (ATTUNE_TALKER_TOKEN, or a mounted ATTUNE_TALKER_TOKEN_FILE), an access
# code is made at every start, and printed with the link: docker logs.
ENV HOST=0.0.0.0 PORT=7860 ATTUNE_MAKE_TOKENS=true
EXPOSE 7860
HEALTHCHECK --start-period=60s --interval=30s --timeout=5s \
    CMD python -c "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/health', timeout=4)"
CMD ["python", "-m", "ui"]
