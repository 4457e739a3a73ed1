{% import '_guards.sql' as guards -%}
{% set region, day = partition_key.split('|') -%}
{{ guards.only_partition(params.target, region, day) }}
INSERT INTO {{ params.target }} (region, day, orders, amount_{{ var.value.currency | lower }})
SELECT region, DATE '{{ day }}', COUNT(*), SUM(amount * rate)
FROM raw.sales
JOIN raw.exchange_rates USING (region, currency)
WHERE region = %(region)s
  AND sold_at >= DATE '{{ day }}' AND sold_at < DATE '{{ macros.ds_add(day, 1) }}'
GROUP BY region;
{% include 'audit.sql' %}
