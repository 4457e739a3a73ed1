{% from '_hours.sql' import hour_filter -%}
INSERT OVERWRITE TABLE {{ params.schema }}.combined PARTITION (dt = '{{ partition_date | ds }}', hour = '{{ partition_date.strftime('%H') }}')
SELECT player_id,
       SUM(points)              AS points,
       MAX(score_time)          AS last_score,
       COUNT(DISTINCT match_id) AS matches
FROM (
  SELECT * FROM staging.team_a WHERE {{ hour_filter('score_time', partition_date) }}
  UNION ALL
  SELECT * FROM staging.team_b WHERE {{ hour_filter('score_time', partition_date) }}
) AS teams
WHERE region = '{{ params.region }}'
GROUP BY player_id
