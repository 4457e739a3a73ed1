-- Load of analytics.events for partition 2026-03-10
-- run asset_triggered__2026-03-11T02:15:30.123456+00:00_Qm3x

BEGIN;

DELETE FROM analytics.events
WHERE event_date >= '2026-03-10'
  AND event_date <  '2026-03-11';

INSERT INTO analytics.events (
    "event_id",
    "user_id",
    "event_date",
    "country",
    "device",
    "os",
    "amount",
    "currency",
    "ref",
    "ua"
)
SELECT
    src.event_id AS event_id,
    src.user_id AS user_id,
    CAST('2026-03-10' AS DATE) AS event_date,
    NULLIF(TRIM(src.country), '') AS country,
    src.device AS device,
    src.os AS os,
    src.amount AS amount,
    src.currency AS currency,
    NULLIF(TRIM(src.ref), '') AS ref,
    src.ua AS ua
FROM raw.events AS src
WHERE src.dt = '2026-03-10'
  AND src.region IN ('eu', 'us')
LIMIT 1000
;

INSERT INTO audit.loads (tbl, ds, rows_in, n_cols)
VALUES ('EVENTS', '20260310',
        1234, 10);

COMMIT;