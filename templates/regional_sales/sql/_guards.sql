{% macro only_partition(table, region, day) -%}
DELETE FROM {{ table }} WHERE region = '{{ region }}' AND day = DATE '{{ day }}';
{%- endmacro %}
