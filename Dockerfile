# assay with the starter tasks: `docker build -t assay . && docker run --rm assay` prints a leaderboard, offline.
# Your own tasks, with runs written as you: docker run --rm --user "$(id -u)" -v "$PWD:/project" -e OPENAI_API_KEY \
#     -e ASSAY_HOME=/project/.assay-home assay run tasks/ --model openai:MODEL
# ASSAY_HOME keeps, in your folder, the secret by which the next container recognises your runs and resumes them.
FROM python:3.12-slim AS build
WORKDIR /src
COPY requirements.lock pyproject.toml README.md LICENSE ./
RUN python -m venv /opt/assay && /opt/assay/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY src ./src
COPY examples ./examples
RUN /opt/assay/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.12-slim
COPY --from=build /opt/assay /opt/assay
RUN useradd --create-home --uid 1000 assay && mkdir /project && chown assay /project
USER 1000
WORKDIR /project
ENV PATH=/opt/assay/bin:$PATH
ENTRYPOINT ["assay"]
CMD ["run"]
