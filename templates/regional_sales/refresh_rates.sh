#!/usr/bin/env bash
set -euo pipefail
# {{ partition_key }}, asked for by {{ dag_run.run_type }}
rates="s3://lake/reference/exchange_rates/region={{ partition_key }}"
files=($(aws s3 ls "$rates/" | awk '{print $4}'))
{% raw %}echo "found ${#files[@]} files"{% endraw %}
curl --fail --silent "https://rates.example.com/{{ var.value.currency }}" | aws s3 cp - "$rates/latest.json"
