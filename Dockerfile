# Mobox with all that compose.yaml needs. The page is in the package: nothing else is built.

FROM python:3.11-slim AS build
RUN python -m venv /opt/mobox
ENV PATH=/opt/mobox/bin:$PATH
COPY requirements/deploy.txt /build/requirements/
RUN pip install --no-cache-dir --no-deps --only-binary=:all: --require-hashes -r /build/requirements/deploy.txt && pip check
COPY pyproject.toml hatch_build.py README.md LICENSE /build/
COPY src /build/src
COPY agents/demo /build/agents/demo
RUN pip install --no-cache-dir --no-build-isolation --no-deps /build

FROM python:3.11-slim
# The sandbox of agents; it works where the container allows user namespaces: docs/deployment.md.
RUN apt-get update && apt-get install --yes --no-install-recommends bubblewrap && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --create-home mobox && install -d -o mobox -g mobox -m 700 /data
COPY --from=build /opt/mobox /opt/mobox
ENV PATH=/opt/mobox/bin:$PATH PYTHONUNBUFFERED=1 MOBOX_DATA=/data UV_CACHE_DIR=/data/uv-cache
USER mobox
WORKDIR /home/mobox
VOLUME /data
ENTRYPOINT ["mobox"]
CMD ["serve"]
