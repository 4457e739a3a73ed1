#!/usr/bin/env bash
set -euo pipefail
exec python -m churn.score --day "$1" --weekday "$2" --model "s3://models/churn/weekly/${MODEL_WEEK}"
