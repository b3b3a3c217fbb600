# One image for every role: `start --roles gateway`, `start --roles admin,worker`, or `start` for all three.
ARG NODE_IMAGE=node:26-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY scripts ./scripts
RUN npm ci
COPY tsconfig.json tsconfig.build.json nest-cli.json .swcrc ./
COPY src ./src
RUN npm run -s build

# The optional dependencies are a Node of our own for machines with an older one; the image has the right one already.
FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY scripts ./scripts
RUN npm ci --omit=dev --omit=optional && npm cache clean --force

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="Trailgate" \
      org.opencontainers.image.description="The gateway you put in front of your backends the day you publish a public REST API." \
      org.opencontainers.image.licenses="Apache-2.0"
# MALLOC_*: what the C library may keep for itself (docs/configuration.md, "Memory of the C library").
ENV NODE_ENV=production \
    TRAILGATE_DATA_DIR=/data \
    MALLOC_ARENA_MAX=1 \
    MALLOC_TRIM_THRESHOLD_=33554432
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE customers.openapi.yaml ./
COPY deploy/gateway.yaml ./deploy/gateway.yaml
RUN install -d -o 1000 -g 1000 -m 0700 /data
# By number, so that Kubernetes can tell that it is not root: the user `node` of the image.
USER 1000:1000
VOLUME /data
EXPOSE 8080 8081
# Asks /livez, because a gateway whose Redis is away still serves and must not be restarted. The shell opens the connection itself:
# a Node process every ten seconds would cost more than the gateway at rest.
HEALTHCHECK --interval=10s --timeout=3s --start-period=15s --retries=3 \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/${TRAILGATE_ADMIN_PORT:-8081} && printf 'GET /livez HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nConnection: close\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
ENTRYPOINT ["node", "dist/main.js"]
CMD ["start", "--config", "deploy/gateway.yaml"]
