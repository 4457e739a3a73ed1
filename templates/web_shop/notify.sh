{% for dataset, events in triggering_dataset_events.items() -%}
{% for event in events -%}
bin/notify.sh "{{ dataset }}" "{{ event.source_dag_id }}.{{ event.source_task_id }}" --rows {{ event.extra.get('rows', 'unknown') }}
{% endfor %}
{%- endfor %}
