FROM debian:trixie-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
        gcc libc6-dev cmake ninja-build pkg-config \
        libjpeg62-turbo-dev libturbojpeg0-dev liblcms2-dev libdeflate-dev libwebp-dev libgif-dev libavif-dev libjxl-dev \
        libstb-dev \
        libmicrohttpd-dev libcjson-dev libck-dev libhwloc-dev libboost-context-dev \
        libhttp-parser-dev libmetis-dev libseccomp-dev \
        nettle-dev libgnutls28-dev libcurl4-gnutls-dev libexpat1-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
# The commit that --version prints: the folder .git is not copied.
ARG COMMIT=unknown
RUN cmake --preset release -DDARKROOM_LAB=OFF -DDARKROOM_COMMIT="$COMMIT" \
    && cmake --build --preset release

FROM debian:trixie-slim
RUN apt-get update && apt-get install -y --no-install-recommends \
        libjpeg62-turbo libturbojpeg0 liblcms2-2 libdeflate0 libwebp7 libgif7 libavif16 libjxl0.11 \
        libmicrohttpd12t64 \
        libcjson1 libhwloc15 libhttp-parser2.9 libmetis5 libseccomp2 \
        libnettle8t64 libgnutls30t64 libcurl3t64-gnutls libexpat1 ca-certificates curl \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/build/release/darkroom /src/build/release/darkroom-store \
    /src/build/release/darkroom-decoder /src/build/release/loadgen /usr/local/bin/
COPY datasets/samples /usr/share/darkroom/samples
COPY LICENSE datasets/README.md /usr/share/darkroom/
# For --store /var/lib/darkroom: a new volume gets the owner of this folder.
RUN install -d -o 65534 -g 65534 -m 750 /var/lib/darkroom
USER 65534:65534
EXPOSE 8080 9090
HEALTHCHECK --interval=10s --timeout=3s --start-period=2s \
    CMD ["curl", "-fsS", "-o", "/dev/null", "http://127.0.0.1:8080/healthz"]
# Docker's -p decides who can reach the server.  Reports have a port of their own,
# which is not published together with that of uploads.  Docker may give all
# connections to a published port one address of its own networks.
ENV DARKROOM_LISTEN=0.0.0.0:8080 DARKROOM_INSECURE=1 \
    DARKROOM_ADMIN_LISTEN=0.0.0.0:9090 \
    DARKROOM_TRUSTED_PROXIES=127.0.0.0/8,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7
ENTRYPOINT ["darkroom"]
