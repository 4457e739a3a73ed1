-- {{ dag.dag_id }}.{{ task.task_id }} for {{ partition_key }}
CREATE OR REPLACE TABLE backtest_{{ partition_date | ds_nodash }} AS
{% block body %}{% endblock %};
GRANT SELECT ON backtest_{{ partition_date | ds_nodash }} TO ROLE analyst;
