-- {{ dag.dag_id }} for {{ partition_key }}
WITH hourly AS (
{%- for asset, events in triggering_asset_events.items() %}
  SELECT '{{ asset.name }}' AS source, '{{ events[0].partition_key }}' AS source_key, AVG(points) AS points
  FROM staging.{{ asset.name | replace('_player_stats', '') }}
  WHERE hour_key = '{{ events[0].partition_key }}'
{%- if not loop.last %}
  UNION ALL
{%- endif %}
{%- endfor %}
)
SELECT source, points, points - AVG(points) OVER () AS distance
FROM hourly
ORDER BY distance DESC;
