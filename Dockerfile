# Attune in a container, its weights inside: docker build -t attune . && docker run -p 127.0.0.1:7860:7860 attune
# With the packages of the gpu profile: docker build --build-arg PROFILE=gpu -t attune:gpu .
# With further extras of pyproject.toml: docker build --build-arg EXTRAS=tracing,s3 -t attune .
ARG PYTHON=3.11-slim

# --- packages: what pip and its caches leave behind stays in this stage
FROM python:${PYTHON} AS packages
WORKDIR /app
RUN python -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH
# What is locked, and audited: each package in its one version, refused if its hash is another. Made
# anew only if the lock changes, and shared by all profiles.
COPY requirements.lock ./
RUN pip install --no-cache-dir --require-hashes -r requirements.lock
# The gpu profile's lock holds the same, and what it needs besides. The project brings no package of
# its own. Extras are not locked: they come in the versions of pyproject.toml, and leave what is
# locked as it is. pip would ask for a hash of all if it saw one in a constraint, so only names and
# versions are taken. The check fails if a lock fell behind.
ARG PROFILE=embedded
ARG EXTRAS=""
COPY requirements/gpu.lock requirements/
COPY pyproject.toml README.md ./
RUN lock=requirements.lock \
    && if [ "$PROFILE" = gpu ]; then \
        lock=requirements/gpu.lock && pip install --no-cache-dir --require-hashes -r "$lock"; \
    fi \
    && pip install --no-cache-dir --no-deps -e . \
    && if [ -n "$EXTRAS" ]; then \
        grep -o '^[A-Za-z0-9._-]*==[^ ;]*' "$lock" > locked.txt \
        && pip install --no-cache-dir -c locked.txt -e ".[$EXTRAS]"; \
    fi \
    && pip check

# --- weights: fetched anew only if their table changes. Those a GPU needs come from the hub, at first
# start or with a volume mounted at /opt/attune.
FROM packages AS weights
ENV ATTUNE_CACHE=/opt/attune
COPY models/__init__.py models/weights.py models/adapter_files.py models/digest.py \
    models/reply_gguf.py models/
COPY models/adapters models/adapters
RUN python -m models.weights

# --- what runs
FROM python:${PYTHON}
ARG PROFILE=embedded
# llama.cpp's wheel expects the system's OpenMP. Its version is the distribution's to choose.
# A new volume takes the owner of the folder it is mounted at, and root's where there is none: the
# folders of compose.yaml are made here.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 10001 attune \
    && install -d -o attune /data /hub /opt/attune
WORKDIR /app
COPY --from=packages /opt/venv /opt/venv
COPY --from=weights --chown=attune /opt/attune /opt/attune
COPY pyproject.toml README.md LICENSE ./
COPY profiles profiles
COPY models models
COPY server server
COPY ui ui

# Inside a container the loopback is the container's own: publish the port to choose who may reach it.
# Recorded sessions outlive the container if a volume is mounted at /data. Without tokens of your own
# (ATTUNE_TALKER_TOKEN, or a mounted ATTUNE_TALKER_TOKEN_FILE), an access code is made at every start,
# and printed with the link: docker logs. MAKE_TOKENS is no secret, only named like one.
# hadolint ignore=DL3064
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    ATTUNE_CACHE=/opt/attune \
    ATTUNE_PROFILE=${PROFILE} \
    ATTUNE_RECORDING__RUNS=/data/runs \
    ATTUNE_MAKE_TOKENS=true \
    HOST=0.0.0.0 \
    PORT=7860
VOLUME /data
USER 10001
EXPOSE 7860
STOPSIGNAL SIGTERM
HEALTHCHECK --start-period=60s --interval=30s --timeout=5s \
    CMD ["python", "-m", "server.healthcheck"]
CMD ["python", "-m", "ui"]
