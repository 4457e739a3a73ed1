{% set day = partition_date | ds -%}
{% set hours = triggering_asset_events.values() | first | sort(attribute='partition_key') | map(attribute='partition_key') | list -%}
-- {{ hours | length }} hours of {{ day }}
DELETE FROM {{ params.schema }}.player_day WHERE day = DATE '{{ day }}';
INSERT INTO {{ params.schema }}.player_day (day, player_id, points)
SELECT DATE '{{ day }}', player_id, SUM(points)
FROM {{ params.schema }}.combined
WHERE dt = '{{ day }}'
  AND hour IN ({% for hour in hours %}'{{ hour[-2:] }}'{{ ", " if not loop.last }}{% endfor %})
GROUP BY player_id;
