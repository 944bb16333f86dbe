# The tag is the version of Node that tools/node24/older pins: the bundle is tested with it. A release names the digest as well, by
# --build-arg NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:…
ARG NODE_IMAGE=node:24.21.0-bookworm-slim
FROM ${NODE_IMAGE} AS node

FROM node AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY tools/node24 tools/node24
RUN npm ci
COPY build.ts node24.mjs tsconfig.json ./
COPY functions functions
COPY src src
COPY tools/bundle tools/bundle
RUN npm run build

FROM node AS server
# V8 takes a pod's limit for its heap alone, and the kernel kills the process before garbage is collected. Of 256 MiB it leaves 20 so.
# Each arena of malloc keeps memory of its own: with two a process that has answered has 1 MB less, and is no slower.
ENV NODE_ENV=production NODE_COMPILE_CACHE=/cache MALLOC_ARENA_MAX=2 NODE_OPTIONS="--max-old-space-size-percentage=45 --max-semi-space-size=8"
WORKDIR /app
COPY LICENSE ./
# The bundle, what plans and telemetry load beside it, what these share, the page, the licences of what is in them, and their bill of materials.
COPY --from=build /build/dist/server.cjs /build/dist/comparison.mjs /build/dist/lint.mjs /build/dist/otlp.mjs /build/dist/page.mjs /build/dist/propose.mjs /build/dist/schemas.mjs /build/dist/shared-*.mjs /build/dist/traffic.mjs /build/dist/NOTICES.txt /build/dist/sbom.cdx.json ./
COPY --from=build /build/dist/page page/
# Numeric, so that Kubernetes can tell it is not root. Node keeps a compile cache per user: warm and run as this one.
RUN install --directory --owner=1000 --group=1000 /cache
USER 1000:1000
EXPOSE 8080
# Exec form without a shell or npm between: node is process 1 and gets SIGTERM. All functions; a command may name some.
# It starts from a snapshot of a process that has taken some steps. `node server.cjs` is the same without, and slower to start.
CMD ["node", "--snapshot-blob", "/cache/server.blob", "server.cjs"]

FROM server AS warm
RUN ["node", "--snapshot-blob", "/cache/server.blob", "--build-snapshot", "server.cjs"]
# Each takes some steps on no cluster and ends, as it will where it runs. The second one leaves the compile cache.
RUN ["node", "--snapshot-blob", "/cache/server.blob", "server.cjs", "warm-up"]
RUN ["node", "server.cjs", "warm-up"]

FROM server
# What a build knows of itself, by --build-arg.
ARG VERSION REVISION SOURCE CREATED
LABEL org.opencontainers.image.title="meshstep" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.base.name="docker.io/library/node:24.21.0-bookworm-slim" \
      org.opencontainers.image.description="Event functions that put Juju applications on a service mesh" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=warm --chown=1000:1000 /cache /cache
