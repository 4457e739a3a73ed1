#!/usr/bin/env bash
set -euo pipefail
# started by {{ triggering_asset_events.keys() | map(attribute='uri') | join(', ') }}
snowsql --query "COPY INTO @marts/${MART}/ FROM marts.${MART} OVERWRITE = TRUE"
echo "run {{ run_id }} has no logical date: {{ dag_run.logical_date is none }}"
