// The sys_ views: what users see of the catalog. Their columns are a promise of the language.
#include "daemon/catalog/views.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/catalog/catalog.h"

namespace traind::daemon {
namespace {

constexpr std::string_view kLiveTables = R"sql(
CREATE TEMP TABLE _live_gpus(
  uuid TEXT, node TEXT, idx INTEGER, type TEXT, kind TEXT, memory INTEGER, memory_bytes INTEGER,
  free_bytes INTEGER, reserved_bytes INTEGER, foreign_bytes INTEGER, state TEXT, emulated INTEGER,
  price_per_hour REAL, name TEXT, threads INTEGER, instruction_set TEXT);
CREATE TEMP TABLE _live_settings(name TEXT, value TEXT, source TEXT);
)sql";

// SQLite declares a table function at its first use, which a user's query, under the authorizer, could not.
constexpr std::string_view kTableFunctions = "SELECT 1 FROM json_each('[]'), json_tree('[]');\n";

// A running job's progress is its newest metric row; its own row has what was saved last.
constexpr View kViews[] = {
    {"sys_attempts", "job, attempt, devices, started_at, ended_at, outcome",
     "SELECT job_id AS job, attempt, devices, started_at, ended_at, outcome FROM main._attempts"},
    {"sys_checkpoints", "job, step, path, bytes, state, val_loss, best",
     R"sql(SELECT c.job_id AS job, c.step, c.path, c.bytes, c.state, c.val_loss,
  c.step IS (SELECT b.step FROM main._checkpoints b WHERE b.job_id = c.job_id AND b.state = 'complete'
    AND b.val_loss IS NOT NULL ORDER BY b.val_loss, b.step DESC LIMIT 1) AS best
  FROM main._checkpoints c)sql"},
    {"sys_datasets", "name, tokens, documents, bytes, format, options, files, largest_token",
     "SELECT name, tokens, documents, bytes, spec ->> 'format' AS format, "
     "CASE WHEN spec ->> 'text_field' IS NOT NULL THEN 'text_field=' || (spec ->> 'text_field') END AS "
     "options, "
     "files, largest_token FROM main._datasets"},
    {"sys_events", "job, time, kind, detail, id",
     "SELECT job_id AS job, time, kind, detail, id FROM main._events"},
    {"sys_gpus",
     "uuid, node, idx, type, kind, memory, memory_bytes, free_bytes, reserved_bytes, foreign_bytes, state, "
     "emulated, price_per_hour, name, threads, instruction_set",
     "SELECT * FROM temp._live_gpus"},
    {"sys_job_settings", "job, name, value, source",
     "SELECT job_id AS job, name, value, source FROM main._job_settings"},
    {"sys_jobs",
     "id, name, model, from_version, to_version, state, reason, labels, priority, step, total_steps, tokens, "
     "loss, val_loss, submitted_at, started_at, ended_at, gpu_seconds, cost, predicted_peak_bytes, "
     "peak_bytes, "
     "predicted_step_ms, step_ms, statement",
     R"sql(SELECT j.id, nullif(j.name, '') AS name, j.target_model AS model, j.from_version, j.to_version,
  j.state, nullif(j.reason, '') AS reason, j.labels, j.priority,
  max(j.step, coalesce((SELECT max(m.step) FROM metrics._metrics m WHERE m.job_id = j.id), 0)) AS step,
  nullif(j.total_steps, 0) AS total_steps,
  (SELECT m.tokens FROM metrics._metrics m WHERE m.job_id = j.id ORDER BY m.step DESC LIMIT 1) AS tokens,
  (SELECT m.loss FROM metrics._metrics m WHERE m.job_id = j.id ORDER BY m.step DESC LIMIT 1) AS loss,
  (SELECT m.val_loss FROM metrics._metrics m WHERE m.job_id = j.id AND m.val_loss IS NOT NULL
    ORDER BY m.step DESC LIMIT 1) AS val_loss,
  j.submitted_at, j.started_at, j.ended_at, j.gpu_seconds, j.cost,
  nullif(j.predicted_peak_bytes, 0) AS predicted_peak_bytes, j.peak_bytes,
  nullif(j.predicted_step_ms, 0.0) AS predicted_step_ms, j.step_ms, j.statement FROM main._jobs j)sql"},
    {"sys_links", "a, b, type, bytes_per_second, latency_us",
     "SELECT NULL AS a, NULL AS b, NULL AS type, NULL AS bytes_per_second, NULL AS latency_us WHERE 0"},
    {"sys_metrics",
     "job, step, tokens, loss, val_loss, learning_rate, grad_norm, tokens_per_second, mfu, time",
     "SELECT job_id AS job, step, tokens, loss, val_loss, learning_rate, grad_norm, tokens_per_second, mfu, "
     "time "
     "FROM metrics._metrics"},
    {"sys_models", "name, architecture, parameters, versions",
     "SELECT m.name, m.architecture, m.parameters, (SELECT count(*) FROM main._versions v WHERE v.model_id = "
     "m.id) "
     "AS versions FROM main._models m"},
    {"sys_nodes", "name, gpus, state",
     "SELECT node AS name, count(*) AS gpus, 'UP' AS state FROM temp._live_gpus GROUP BY node"},
    {"sys_settings", "name, value, source", "SELECT name, value, source FROM temp._live_settings"},
    {"sys_tokenizers", "name, kind, vocab_size, end_of_text, bytes, models",
     R"sql(SELECT 'bytes' AS name, 'bytes' AS kind, 256 AS vocab_size, NULL AS end_of_text, NULL AS bytes,
  (SELECT count(*) FROM main._models m WHERE coalesce(m.spec ->> '$.tokenizer_id', 0) = 0) AS models
UNION ALL SELECT t.name, t.kind, t.vocab_size, t.end_of_text, t.bytes,
  (SELECT count(*) FROM main._models m WHERE m.spec ->> '$.tokenizer_id' = t.id) FROM main._tokenizers t)sql"},
    {"sys_versions", "model, version, job, step, tokens, val_loss, path",
     "SELECT m.name AS model, v.version, nullif(v.job_id, 0) AS job, v.step, v.tokens, v.val_loss, v.path "
     "FROM main._versions v JOIN main._models m ON m.id = v.model_id"},
};

}  // namespace

std::span<const View> AllViews() {
  return kViews;
}

std::vector<std::string> ViewNames() {
  std::vector<std::string> names;
  for (const View& view : kViews) names.emplace_back(view.name);
  return names;
}

std::string ViewScript(std::string_view inner_prefix) {
  std::string script(kLiveTables);
  script += kTableFunctions;
  for (const View& view : kViews) {
    fmt::format_to(std::back_inserter(script),
                   "CREATE TEMP VIEW {0}{1} AS {3};\nCREATE TEMP VIEW {1} AS SELECT {2} FROM {0}{1};\n",
                   inner_prefix, view.name, view.columns, view.select);
  }
  return script;
}

}  // namespace traind::daemon
