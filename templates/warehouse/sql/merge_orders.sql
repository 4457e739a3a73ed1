MERGE INTO orders AS target
USING (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY order_id ORDER BY updated_at DESC) AS newest
  FROM {{ conn.snowflake.schema }}.orders_staging
) AS source
ON target.order_id = source.order_id
WHEN MATCHED AND source.newest = 1 AND source.updated_at > target.updated_at THEN
  UPDATE SET status = source.status, amount = source.amount, updated_at = source.updated_at, load_id = '{{ run_id }}'
WHEN NOT MATCHED AND source.newest = 1 THEN
  INSERT (order_id, status, amount, updated_at, load_id)
  VALUES (source.order_id, source.status, source.amount, source.updated_at, '{{ run_id }}');
