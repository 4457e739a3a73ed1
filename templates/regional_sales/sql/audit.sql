INSERT INTO audit.loads (dag_id, task_id, run_id, partition_key, source_keys)
VALUES ('{{ dag.dag_id }}', '{{ task.task_id }}', '{{ run_id }}', '{{ partition_key }}',
        '{{ triggering_asset_events.values() | first | map(attribute='partition_key') | join(' ') }}');
