{% set event = triggering_asset_events.for_asset(name='orders_export') | first -%}
COPY INTO {{ conn.snowflake.schema }}.orders_staging
FROM {{ params.stage }}/orders/{{ event.extra.prefix }}/
FILE_FORMAT = (TYPE = {{ event.asset.extra.format | upper }})
ON_ERROR = '{{ params.on_error }}'
PATTERN = '.*[.]{{ event.asset.extra.format }}';
{% include '_provenance.sql' %}
