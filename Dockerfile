FROM debian:trixie-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
        gcc libc6-dev cmake ninja-build pkg-config \
        libjpeg62-turbo-dev libturbojpeg0-dev liblcms2-dev libdeflate-dev libwebp-dev libgif-dev libavif-dev libjxl-dev \
        libmicrohttpd-dev libcjson-dev libck-dev libhwloc-dev libboost-context-dev \
        libhttp-parser-dev libmetis-dev libseccomp-dev \
        nettle-dev libgnutls28-dev libcurl4-gnutls-dev libexpat1-dev ca-certificates \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
# The commit that --version prints: the folder .git is not copied.
ARG COMMIT=unknown
# Without HEIC, whose patents are the concern of those who need it.
RUN cmake --preset release -DDARKROOM_LAB=OFF -DDARKROOM_HEIC=OFF -DDARKROOM_COMMIT="$COMMIT" \
    && cmake --build --preset release \
    && strip build/release/darkroom build/release/darkroom-store build/release/darkroom-webhook build/release/darkroom-decoder \
        build/release/loadgen

FROM debian:trixie-slim
# libhwy_contrib, 5 MB, is in the same package as libhwy, and nothing here uses it.
RUN apt-get update && apt-get install -y --no-install-recommends \
        libjpeg62-turbo libturbojpeg0 liblcms2-2 libdeflate0 libwebp7 libgif7 libavif16 libjxl0.11 \
        libmicrohttpd12t64 \
        libcjson1 libhwloc15 libhttp-parser2.9 libmetis5 libseccomp2 \
        libnettle8t64 libgnutls30t64 libcurl3t64-gnutls libexpat1 \
    && rm -rf /var/lib/apt/lists/* /var/cache/debconf/* /var/lib/dpkg/*-old /var/log/* \
        /usr/lib/*/libhwy_contrib.so.*
# Not the package ca-certificates: it needs openssl, of 3 MB.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /src/build/release/darkroom /src/build/release/darkroom-store /src/build/release/darkroom-webhook \
    /src/build/release/darkroom-decoder /src/build/release/loadgen /usr/local/bin/
COPY datasets/samples/clownfish.jpg datasets/samples/coral-day.jpg /usr/share/darkroom/samples/
COPY LICENSE datasets/README.md /usr/share/darkroom/
# For --store /var/lib/darkroom: a new volume gets the owner of this folder.
RUN install -d -o 65534 -g 65534 -m 750 /var/lib/darkroom
USER 65534:65534
EXPOSE 8080 9090
HEALTHCHECK --interval=10s --timeout=3s --start-period=2s \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
# Docker's -p decides who can reach the server.  Reports have a port of their own,
# which is not published together with that of uploads.  Docker may give all
# connections to a published port one address of its own networks.
ENV DARKROOM_LISTEN=0.0.0.0:8080 DARKROOM_INSECURE=1 \
    DARKROOM_ADMIN_LISTEN=0.0.0.0:9090 \
    DARKROOM_TRUSTED_PROXIES=127.0.0.0/8,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7
ENTRYPOINT ["darkroom"]
