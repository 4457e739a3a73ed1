{#- A half-open hour: what a partition overwrite must select to be repeatable. -#}
{% macro hour_filter(column, start) -%}
{{ column }} >= TIMESTAMP '{{ start.strftime('%Y-%m-%d %H:%M:%S') }}' AND {{ column }} < TIMESTAMP '{{ start.add(hours=1).strftime('%Y-%m-%d %H:%M:%S') }}'
{%- endmacro %}
