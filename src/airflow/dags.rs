//! A Dag folder, read by the user's own Airflow.
