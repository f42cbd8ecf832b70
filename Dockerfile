# One build, one small image for each binary: docker build --target butlerctl .
# The images hold the binary and the C library it is linked to, no shell and no package manager. They run as an
# unprivileged user and write nothing, so a read-only root file system is fine.
FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --release --locked --workspace --bins \
    && mkdir /out \
    && find target/release -maxdepth 1 -type f -executable -exec cp {} /out/ \;

FROM gcr.io/distroless/cc-debian12:nonroot AS runtime
USER 65532:65532

FROM runtime AS butlerctl
COPY --from=build /out/butlerctl /usr/local/bin/butlerctl
ENTRYPOINT ["/usr/local/bin/butlerctl"]

FROM runtime AS butler-webhook
COPY --from=build /out/butler-webhook /usr/local/bin/butler-webhook
ENTRYPOINT ["/usr/local/bin/butler-webhook"]

FROM runtime AS butler-reconciler
COPY --from=build /out/butler-reconciler /usr/local/bin/butler-reconciler
ENTRYPOINT ["/usr/local/bin/butler-reconciler"]
