{%- set orders = (triggering_dataset_events.values() | first | first).source_dag_run %}
INSERT OVERWRITE {{ var.value.warehouse_schema }}.daily_revenue PARTITION (day = '{{ orders.data_interval_start | ds }}')
SELECT o.customer_id, SUM(p.amount) AS amount, '{{ params.currency }}' AS currency
FROM raw.orders o
JOIN raw.payments p USING (order_id)
WHERE o.created_at >= '{{ data_interval_start }}'
  AND o.created_at < '{{ data_interval_end }}'
GROUP BY o.customer_id
-- computed {{ execution_date }}
