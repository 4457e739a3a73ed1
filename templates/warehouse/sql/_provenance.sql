{% for asset, events in triggering_asset_events.items() -%}
{% for event in events -%}
-- {{ asset.name }}: {{ event.extra.files }} files from {{ event.source_dag_id or 'outside' }}, {{ event.timestamp.strftime('%Y-%m-%d %H:%M') }}
{% endfor -%}
{% endfor -%}
