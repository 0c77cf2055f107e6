# syntax=docker/dockerfile:1
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json tsconfig.json ./
# `--ignore-scripts`: no dependency runs code while installing, and ours is built one step below, from the sources.
RUN npm ci --ignore-scripts
COPY build ./build
COPY src ./src
# Most packages are in dist/ now: what is left is what an installed Docket has. The SBOM names both.
RUN npm run build && node build/check-licenses.mjs && mv build/out/sbom.cdx.json . \
 && node build/installed.mjs small && npm prune --omit=dev --ignore-scripts && rm -r build/out
# A third of the packages' files is for compilers, browsers and CommonJS.
RUN find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.md' \) -delete \
 && rm -r node_modules/@opentelemetry/*/build/esm node_modules/@opentelemetry/*/build/esnext node_modules/astronomia/lib \
    node_modules/date-holidays/dist node_modules/moment/min node_modules/moment/dist node_modules/moment/src \
    node_modules/moment-timezone/builds node_modules/mrml/bundler node_modules/mrml/web

FROM node:24-bookworm-slim
LABEL org.opencontainers.image.title="Docket" \
      org.opencontainers.image.description="Scheduled reports from rate-limited metrics APIs" \
      org.opencontainers.image.licenses="MIT" \
      io.docket.sbom="/app/sbom.cdx.json"
# For `demo`, `run` and `start --local` without REDIS_URL.
RUN apt-get update && apt-get install --yes --no-install-recommends redis-server \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
ENV NODE_ENV=production \
    DOCKET_JOBS=/app/jobs \
    DOCKET_ARCHIVE=file:///var/lib/docket/archive \
    DOCKET_ADMIN_HOST=0.0.0.0
WORKDIR /app
COPY --from=build /app/package.json /app/sbom.cdx.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY templates ./templates
COPY jobs ./jobs
# The only place Docket writes to; everything else may be (and in docker-compose.yml is) read-only. `out` is where the
# demo's reports go: a relative path of a delivery is meant from the working directory.
# `tokens` holds the hashes of who may sign in (DOCKET_ADMIN_TOKENS), written by `docket tokens create` in the container.
RUN install -d -o node -g node /var/lib/docket /var/lib/docket/archive /var/lib/docket/out /var/lib/docket/tokens
VOLUME /var/lib/docket
WORKDIR /var/lib/docket
USER node
EXPOSE 8787
HEALTHCHECK --interval=15s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.DOCKET_ADMIN_PORT ?? 8787}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/main.js"]
CMD ["start"]
