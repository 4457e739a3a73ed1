#!/usr/bin/env bash
set -euo pipefail
day="$1"
psql --no-psqlrc -c "\\copy (SELECT * FROM mart.combined WHERE dt = '${day}') TO STDOUT CSV HEADER" | gzip > "combined-${REGION}-${day}.csv.gz"
