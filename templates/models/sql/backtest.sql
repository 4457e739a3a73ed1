{% extends '_report.sql' %}
{% block body -%}
SELECT s.customer_id, s.score, c.churned
FROM scores AS s
JOIN churn  AS c USING (customer_id)
WHERE s.day = DATE '{{ partition_key }}'
  AND c.observed_at < DATE '{{ macros.ds_add(partition_key, 30) }}'
{%- endblock %}
