DELETE FROM raw.payments WHERE day = '{{ ds }}';
COPY raw.payments FROM 's3://shop-lake/raw/payments/{{ ds_nodash }}/' IAM_ROLE default;
-- next run: {{ next_execution_date }}
