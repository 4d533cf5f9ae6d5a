# The image of `kubeglance serve`. Arguments of the container are flags of serve, so that those of metrics-server work as they are.
ARG PYTHON=3.13-slim-bookworm

FROM python:${PYTHON} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src
# Requirements change seldom and come first, each pinned by its hash; only wheels, so that no compiler is needed.
COPY requirements/serve.lock requirements/build.lock requirements/
RUN python -m venv /opt/kubeglance \
    && /opt/kubeglance/bin/pip install --quiet --require-hashes --only-binary=:all: --requirement requirements/serve.lock
RUN python -m venv /opt/build \
    && /opt/build/bin/pip install --quiet --require-hashes --only-binary=:all: --requirement requirements/build.lock
COPY pyproject.toml README.md LICENSE ./
COPY app app
COPY collectors collectors
RUN /opt/build/bin/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir /wheel . \
    && /opt/kubeglance/bin/pip install --quiet --no-deps --no-index /wheel/*.whl \
    && /opt/kubeglance/bin/pip uninstall --quiet --yes pip

FROM python:${PYTHON}
LABEL org.opencontainers.image.title="kubeglance" \
      org.opencontainers.image.description="A live, read-only Kubernetes API server" \
      org.opencontainers.image.licenses="Apache-2.0"
# The root file system may be read-only: nothing is written but to --cert-dir.
ENV PATH=/opt/kubeglance/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
COPY --from=build /opt/kubeglance /opt/kubeglance
# pip wrote the bytecode of what it installed. That of the standard library, which the base image lacks, would cost each start half a second.
RUN PYTHONDONTWRITEBYTECODE= python -c 'import app.cli.serve, app.main'
# A number, so that runAsNonRoot can be checked without reading /etc/passwd. No home folder is needed.
USER 1000:1000
WORKDIR /tmp
EXPOSE 10250
ENTRYPOINT ["kubeglance", "serve"]
