# The gateway: `docker build -t deeprotect .`, then see docs/deploy/compose.yaml. Its state (ledger and registry)
# lives in /var/lib/deeprotect; bundles are mounted read-only.
FROM python:3.13-slim-bookworm AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /opt/deeprotect \
 && /opt/deeprotect/bin/pip install --no-cache-dir --constraint constraints.txt '.[gateway,ledger,sign]'

FROM python:3.13-slim-bookworm
RUN useradd --system --uid 10001 --home-dir /var/lib/deeprotect --create-home deeprotect
COPY --from=build /opt/deeprotect /opt/deeprotect
USER 10001
WORKDIR /var/lib/deeprotect
VOLUME /var/lib/deeprotect
EXPOSE 8765
ENTRYPOINT ["/opt/deeprotect/bin/deeprotect"]
CMD ["gateway", "serve", "--bundle", "/etc/deeprotect/protector", "--host", "0.0.0.0"]
