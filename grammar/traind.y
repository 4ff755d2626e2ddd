// The grammar of TrainQL (lemon, -c). Keywords and their fallback are appended from keywords.def.
//
// Semantic values are borrowed pointers into the Builder's arena, so that nothing leaks when a statement is
// given up in the middle. A clause's first words are a nonterminal of their own (…_word), which is reduced as
// soon as they are read: a repeated clause is found there. No rule is right-recursive, so the stack's depth
// does not grow with the input. SQL, a piece of SQL, and WORD, a word of HELP, are tokens that the reader
// makes only where the grammar asks for them.

%name GrammarParse
%token_prefix TK_
%token_type {const Token*}
%default_type {const Token*}
%extra_context {Builder* build}
%stack_size 64
%stack_overflow { build->StackOverflow(); }
%start_symbol script

%token END NAME STRING QUANTITY PARAMETER POSITIONAL LP RP COMMA EQ LT LE AT COLON MINUS SQL WORD OPERATOR.
%token_class parameter PARAMETER|POSITIONAL.

script ::= statement END.

// ---- Values and lists.
%type key {Name*}
key(A) ::= NAME(T).                         { A = build->MakeName(*T); }

%type name {Name*}
name(A) ::= key(N).                         { A = N; }
name(A) ::= parameter(T).                   { A = build->MakeName(*T); }

%type number {Value*}
number(A) ::= QUANTITY(T).                  { A = build->MakeValue(*T); }
number(A) ::= parameter(T).                 { A = build->MakeValue(*T); }

%type signed_number {Value*}
signed_number(A) ::= number(V).             { A = V; }
signed_number(A) ::= MINUS(M) QUANTITY(T).  { A = build->MakeNegative(*M, *T); }

%type text {Value*}
text(A) ::= STRING(T).                      { A = build->MakeValue(*T); }
text(A) ::= parameter(T).                   { A = build->MakeValue(*T); }

%type value {Value*}
value(A) ::= signed_number(V).              { A = V; }
value(A) ::= STRING(T).                     { A = build->MakeValue(*T); }
value(A) ::= NAME(T).                       { A = build->MakeValue(*T); }

%type option {Option*}
option(A) ::= key(N).                       { A = build->Make<Option>({*N, std::nullopt}); }
option(A) ::= key(N) EQ value(V).           { A = build->Make<Option>({*N, *V}); }

%type option_list {Options*}
option_list(A) ::= option(O).               { A = build->Make<Options>({*O}); }
option_list(A) ::= option_list(L) COMMA option(O).
                                            { A = L; build->Append(L, *O, O->key.position); }
%type options {Options*}
options(A) ::= LP option_list(L) RP.        { A = L; }

%type model_ref {ModelRef*}
model_ref(A) ::= name(N).                   { A = build->Make<ModelRef>({*N, std::nullopt}); }
model_ref(A) ::= name(N) AT number(V).      { A = build->Make<ModelRef>({*N, *V}); }

%type job {JobRef*}
job(A) ::= number(V).                       { A = build->Make<JobRef>({*V}); }
job(A) ::= STRING(T).                       { A = build->Make<JobRef>({*build->MakeValue(*T)}); }
job(A) ::= NAME(T).                         { A = build->Make<JobRef>({*build->MakeValue(*T)}); }

%type jobs {std::vector<JobRef>*}
jobs(A) ::= job(J).                         { A = build->Make<std::vector<JobRef>>({*J}); }
jobs(A) ::= jobs(L) COMMA job(J).           { A = L; build->Append(L, *J, J->value.position); }

%type source {Source*}
source(A) ::= text(V).                      { A = build->Make<Source>({*V, {}, {}}); }
source(A) ::= NAME(T).                      { A = build->Make<Source>({*build->MakeValue(*T), {}, {}}); }

%type if_not_exists {const Token*}
if_not_exists(A) ::= .                      { A = nullptr; }
if_not_exists(A) ::= IF(T) NOT EXISTS.      { A = T; }

%type if_exists {const Token*}
if_exists(A) ::= .                          { A = nullptr; }
if_exists(A) ::= IF(T) EXISTS.              { A = T; }

// ---- CREATE, DROP, DESCRIBE. A nonterminal ending in _open still lacks a required clause.
statement ::= model.
statement ::= replaced_model.

model_open ::= CREATE(P) MODEL if_not_exists(I) name(N).
                                            { build->StartCreateModel(*P, I != nullptr, false, *N); }
model_open ::= model_open model_options.
model ::= model_open model_origin.
model ::= model model_origin.
model ::= model model_options.

replaced_model_open ::= CREATE(P) OR REPLACE MODEL name(N).
                                            { build->StartCreateModel(*P, false, true, *N); }
replaced_model_open ::= replaced_model_open model_options.
replaced_model_open ::= replaced_model_open model_versions.
replaced_model ::= replaced_model_open model_origin.
replaced_model ::= replaced_model model_origin.
replaced_model ::= replaced_model model_options.
replaced_model ::= replaced_model model_versions.

architecture_word ::= ARCHITECTURE(T).      { build->Begin(Clause::kArchitecture, *T); }
model_origin ::= architecture_word name(N). { build->Get<CreateModel>().architecture = *N; }
like_word ::= LIKE(T).                      { build->Begin(Clause::kLike, *T); }
model_origin ::= like_word name(N).         { build->Get<CreateModel>().like = *N; }
model_origin ::= like_word STRING(T).       { build->Get<CreateModel>().preset = *build->MakeValue(*T); }
with_options ::= WITH(T) LP.                { build->Begin(Clause::kOptions, *T); }
model_options ::= with_options option_list(L) RP.
                                            { build->Get<CreateModel>().options = *L; }
with_versions ::= WITH(T) VERSIONS.         { build->Begin(Clause::kVersions, *T); }
model_versions ::= with_versions.           { build->Get<CreateModel>().with_versions = true; }

statement ::= dataset.
dataset_open ::= CREATE(P) DATASET if_not_exists(I) name(N).
                                            { build->StartCreateDataset(*P, I != nullptr, false, *N); }
dataset_open ::= CREATE(P) OR REPLACE DATASET name(N).
                                            { build->StartCreateDataset(*P, false, true, *N); }
dataset_open ::= dataset_open dataset_options.
dataset_from_open ::= dataset_open dataset_from.
dataset_from_open ::= dataset_from_open dataset_from.
dataset_from_open ::= dataset_from_open dataset_options.
dataset_format_open ::= dataset_open dataset_format.
dataset_format_open ::= dataset_format_open dataset_format.
dataset_format_open ::= dataset_format_open dataset_options.
dataset ::= dataset_from_open dataset_format.
dataset ::= dataset_format_open dataset_from.
dataset ::= dataset dataset_from.
dataset ::= dataset dataset_format.
dataset ::= dataset dataset_options.

from_word ::= FROM(T).                      { build->Begin(Clause::kFrom, *T); }
dataset_from ::= from_word patterns(L).     { build->Get<CreateDataset>().sources = *L; }
%type patterns {std::vector<Value>*}
patterns(A) ::= text(V).                    { A = build->Make<std::vector<Value>>({*V}); }
patterns(A) ::= patterns(L) COMMA text(V).  { A = L; build->Append(L, *V, V->position); }
format_word ::= FORMAT(T).                  { build->Begin(Clause::kFormat, *T); }
dataset_format ::= format_word name(N).     { build->Get<CreateDataset>().format = *N; }
dataset_options ::= with_options option_list(L) RP.
                                            { build->Get<CreateDataset>().options = *L; }

statement ::= made_tokenizer.
made_tokenizer_open ::= CREATE(P) TOKENIZER if_not_exists(I) name(N).
                                            { build->StartTokenizer<CreateTokenizer>(*P, I != nullptr, false, *N); }
made_tokenizer_open ::= CREATE(P) OR REPLACE TOKENIZER name(N).
                                            { build->StartTokenizer<CreateTokenizer>(*P, false, true, *N); }
made_tokenizer_open ::= made_tokenizer_open made_tokenizer_options.
made_tokenizer ::= made_tokenizer_open made_tokenizer_from.
made_tokenizer ::= made_tokenizer made_tokenizer_from.
made_tokenizer ::= made_tokenizer made_tokenizer_options.
made_tokenizer_from ::= from_word text(V).  { build->Get<CreateTokenizer>().file = *V; }
made_tokenizer_options ::= with_options option_list(L) RP.
                                            { build->Get<CreateTokenizer>().options = *L; }

statement ::= DROP(P) MODEL if_exists(I) name(N).
                                            { build->Start<DropModel>(*P) = {I != nullptr, *N, false, P->position}; }
statement ::= DROP(P) MODEL if_exists(I) name(N) WITH VERSIONS.
                                            { build->Start<DropModel>(*P) = {I != nullptr, *N, true, P->position}; }
statement ::= DROP(P) DATASET if_exists(I) name(N).
                                            { build->Start<DropDataset>(*P) = {I != nullptr, *N, P->position}; }
statement ::= DROP(P) TOKENIZER if_exists(I) name(N).
                                            { build->Start<DropTokenizer>(*P) = {I != nullptr, *N, P->position}; }
statement ::= DESCRIBE(P) TOKENIZER name(N).
                                            { build->Start<DescribeTokenizer>(*P).name = *N; }
statement ::= DESCRIBE(P) MODEL name(N).    { build->Start<DescribeModel>(*P).name = *N; }
statement ::= DESCRIBE(P) DATASET name(N).  { build->Start<DescribeDataset>(*P).name = *N; }

// ---- SHOW.
statement ::= shown_rows.
statement ::= shown_versions.
statement ::= shown_checkpoints.
statement ::= shown_stream.

shown_rows ::= SHOW(P) MODELS.              { build->StartShow(*P, Show::What::kModels); }
shown_rows ::= SHOW(P) DATASETS.            { build->StartShow(*P, Show::What::kDatasets); }
shown_rows ::= SHOW(P) TOKENIZERS.          { build->StartShow(*P, Show::What::kTokenizers); }
shown_rows ::= SHOW(P) JOBS.                { build->StartShow(*P, Show::What::kJobs); }
shown_rows ::= SHOW(P) GPUS.                { build->StartShow(*P, Show::What::kGpus); }
shown_rows ::= SHOW(P) SETTINGS.            { build->StartShow(*P, Show::What::kSettings); }
shown_rows ::= shown_rows row_clause.
shown_versions ::= SHOW(P) VERSIONS.        { build->StartShow(*P, Show::What::kVersions); }
shown_versions ::= shown_versions row_clause.
shown_versions ::= shown_versions of_word name(N).
                                            { build->Get<Show>().of = *N; }
shown_checkpoints ::= SHOW(P) CHECKPOINTS.  { build->StartShow(*P, Show::What::kCheckpoints); }
shown_checkpoints ::= shown_checkpoints row_clause.
shown_checkpoints ::= shown_checkpoints for_job_clause.
shown_stream ::= SHOW(P) METRICS.           { build->StartShow(*P, Show::What::kMetrics); }
shown_stream ::= SHOW(P) LOGS.              { build->StartShow(*P, Show::What::kLogs); }
shown_stream ::= SHOW(P) EVENTS.            { build->StartShow(*P, Show::What::kEvents); }
shown_stream ::= shown_stream row_clause.
shown_stream ::= shown_stream for_job_clause.
shown_stream ::= shown_stream follow_word.  { build->Get<Show>().follow = true; }

of_word ::= OF(T).                          { build->Begin(Clause::kOf, *T); }
for_job_word ::= FOR(T) JOB.                { build->Begin(Clause::kForJob, *T); }
for_job_clause ::= for_job_word job(J).     { build->Get<Show>().job = *J; }
where_word ::= WHERE(T).                    { build->Begin(Clause::kWhere, *T); }
row_clause ::= where_word SQL(S).           { build->Get<Show>().where = *S->sql; }
order_by_word ::= ORDER(T) BY.              { build->Begin(Clause::kOrderBy, *T); }
row_clause ::= order_by_word SQL(S).        { build->Get<Show>().order_by = *S->sql; }
limit_word ::= LIMIT(T).                    { build->Begin(Clause::kLimit, *T); }
row_clause ::= limit_word number(V).        { build->Get<Show>().limit = *V; }
follow_word ::= FOLLOW(T).                  { build->Begin(Clause::kFollow, *T); }

statement ::= SHOW(P) JOB job(J).           { build->StartShow(*P, Show::What::kJob).job = *J; }
statement ::= SHOW(P) VERSION.              { build->StartShow(*P, Show::What::kVersion); }
statement ::= SHOW(P) CREATE MODEL name(N). { build->StartShowCreate(*P, ShowCreate::What::kModel).name = *N; }
statement ::= SHOW(P) CREATE DATASET name(N).
                                            { build->StartShowCreate(*P, ShowCreate::What::kDataset).name = *N; }
statement ::= SHOW(P) CREATE JOB job(J).    { build->StartShowCreate(*P, ShowCreate::What::kJob).job = *J; }

// ---- TRAIN and EXPLAIN.
statement ::= train.
statement ::= EXPLAIN(P) train.             { build->WrapInExplain(*P, nullptr); }
statement ::= EXPLAIN(P) options(L) train.  { build->WrapInExplain(*P, L); }
statement ::= EXPLAIN(P) JOB job(J).        { build->Start<ExplainJob>(*P).job = *J; }

train_open ::= TRAIN(P) if_not_exists(I) MODEL model_ref(M).
                                            { build->StartTrain(*P, I, *M); }
train_open ::= train_open train_clause.
train ::= train_open train_from.
train ::= train train_from.
train ::= train train_clause.

%type weighted {Source*}
weighted(A) ::= source(S).                  { A = S; }
weighted(A) ::= source(S) WEIGHT(T) number(V).
                                            { A = S; A->weight = *V; A->weight_position = T->position; }
statement ::= trained_tokenizer.
trained_tokenizer_open ::= TRAIN(P) if_not_exists(I) TOKENIZER name(N).
                                            { build->StartTokenizer<TrainTokenizer>(*P, I != nullptr, false, *N); }
trained_tokenizer_open ::= TRAIN(P) OR REPLACE TOKENIZER name(N).
                                            { build->StartTokenizer<TrainTokenizer>(*P, false, true, *N); }
trained_tokenizer_open ::= trained_tokenizer_open trained_tokenizer_using.
trained_tokenizer ::= trained_tokenizer_open trained_tokenizer_from.
trained_tokenizer ::= trained_tokenizer trained_tokenizer_from.
trained_tokenizer ::= trained_tokenizer trained_tokenizer_using.
trained_tokenizer_from ::= from_word sources(L).
                                            { build->Get<TrainTokenizer>().sources = *L; }
trained_tokenizer_using ::= using_word(P) options(L).
                                            { build->SetTokenizerUsing(*P, *L); }

%type sources {std::vector<Source>*}
sources(A) ::= weighted(S).                 { A = build->Make<std::vector<Source>>({*S}); }
sources(A) ::= sources(L) COMMA weighted(S).
                                            { A = L; build->Append(L, *S, S->value.position); }
train_from ::= from_word sources(L).        { build->Get<Train>().sources = *L; }

from_scratch ::= FROM(T) SCRATCH.           { build->Begin(Clause::kFromScratch, *T); }
train_clause ::= from_scratch.              { build->Get<Train>().from_scratch = true; }

into_word ::= INTO(T).                      { build->Begin(Clause::kInto, *T); }
train_clause ::= into_word name(N).         { build->Get<Train>().into = *N; }

as_word ::= AS(T).                          { build->Begin(Clause::kAs, *T); }
train_clause ::= as_word name(N).           { build->Get<Train>().job_name = *N; }

validate_word(A) ::= VALIDATE(T).           { A = T; build->Begin(Clause::kValidate, *T); }
train_clause ::= validate_word(P) FROM sources(L).
                                            { build->Get<Train>().validate = {*L, std::nullopt, P->position}; }
train_clause ::= validate_word(P) FROM sources(L) EVERY number(V) STEPS.
                                            { build->Get<Train>().validate = {*L, *V, P->position}; }

using_word(A) ::= USING(T).                 { A = T; build->Begin(Clause::kUsing, *T); }
train_clause ::= using_word(P) options(L).  { build->SetUsing(*P, *L); }

%type target_unit {TargetClause::Unit}
target_unit(A) ::= STEPS.                   { A = TargetClause::Unit::kSteps; }
target_unit(A) ::= TOKENS.                  { A = TargetClause::Unit::kTokens; }
target_unit(A) ::= EPOCHS.                  { A = TargetClause::Unit::kEpochs; }
for_word(A) ::= FOR(T).                     { A = T; build->Begin(Clause::kFor, *T); }
train_clause ::= for_word(P) number(V) target_unit(U).
                                            { build->Get<Train>().target = {*V, U, P->position}; }

until_word(A) ::= UNTIL(T).                 { A = T; build->Begin(Clause::kUntil, *T); }
train_clause ::= until_word(P) key(N) LT signed_number(V).
                                            { build->Get<Train>().until = {*N, *V, P->position}; }

on_word(A) ::= ON(T).                       { A = T; build->Begin(Clause::kOn, *T); }
train_clause ::= on_word(P) ALL GPUS.       { build->Get<Train>().on = {true, {}, P->position}; }
train_clause ::= on_word(P) GPU devices(L). { build->Get<Train>().on = {false, *L, P->position}; }
%type devices {std::vector<DeviceRef>*}
devices(A) ::= device(D).                   { A = build->Make<std::vector<DeviceRef>>({*D}); }
devices(A) ::= devices(L) COMMA device(D).  { A = L; build->Append(L, *D, D->position); }
%type device {DeviceRef*}
device(A) ::= name(N) COLON number(V).      { A = build->Make<DeviceRef>({*N, *V, N->position}); }

with_budget(A) ::= WITH(T) BUDGET.          { A = T; build->Begin(Clause::kBudget, *T); }
train_clause ::= with_budget(P) budget(B).  { build->SetBudget(&build->Get<Train>().budget.emplace(), *P, *B); }
%type budget {BudgetClause*}
budget(A) ::= budget_limits(B).             { A = B; }
budget(A) ::= budget_limits(B) ELSE budget_action(X).
                                            { A = B; A->action = X; }
%type budget_action {BudgetClause::Action}
budget_action(A) ::= CHECKPOINT AND STOP.   { A = BudgetClause::Action::kCheckpointAndStop; }
budget_action(A) ::= PAUSE.                 { A = BudgetClause::Action::kPause; }
budget_action(A) ::= WARN.                  { A = BudgetClause::Action::kWarn; }
budget_action(A) ::= FAIL.                  { A = BudgetClause::Action::kFail; }
%type budget_limits {BudgetClause*}
budget_limits(A) ::= number(V).             { A = build->MakeShortBudget(*V); }
budget_limits(A) ::= LP budget_terms(L) RP. { A = build->MakeBudget(std::move(*L)); }
%type budget_terms {std::vector<BudgetTerm>*}
budget_terms(A) ::= budget_term(X).         { A = build->Make<std::vector<BudgetTerm>>({*X}); }
budget_terms(A) ::= budget_terms(L) COMMA budget_term(X).
                                            { A = L; build->Append(L, *X, X->term->position); }
%type budget_term {BudgetTerm*}
budget_term(A) ::= key(N) LE value(V).      { A = build->Make<BudgetTerm>({*N, *V}); }
budget_term(A) ::= DEADLINE(T) value(V).    { A = build->MakeDeadline(*T, *V); }

checkpoint_word(A) ::= CHECKPOINT(T) EVERY. { A = T; build->Begin(Clause::kCheckpoint, *T); }
train_clause ::= checkpoint_interval.
train_clause ::= checkpoint_interval KEEP number(V) LATEST.
                                            { build->Get<Train>().checkpoint->keep = *V; }
checkpoint_interval ::= checkpoint_word(P) number(V).
                                            { build->Get<Train>().checkpoint = {*V, false, std::nullopt, P->position}; }
checkpoint_interval ::= checkpoint_word(P) number(V) STEPS.
                                            { build->Get<Train>().checkpoint = {*V, true, std::nullopt, P->position}; }

resume_word(A) ::= RESUME(T) FROM.          { A = T; build->Begin(Clause::kResume, *T); }
train_clause ::= resume_word(P) LATEST.     { build->Get<Train>().resume = {std::nullopt, P->position}; }
train_clause ::= resume_word(P) CHECKPOINT text(V).
                                            { build->Get<Train>().resume = {*V, P->position}; }

retry_word ::= RETRY(T).                    { build->Begin(Clause::kRetry, *T); }
train_clause ::= retry_word number(V) TIMES. { build->Get<Train>().retry = *V; }

labels_word ::= LABELS(T).                  { build->Begin(Clause::kLabels, *T); }
train_clause ::= labels_word options(L).    { build->Get<Train>().labels = *L; }

wait_word ::= WAIT(T).                      { build->Begin(Clause::kWait, *T); }
train_clause ::= wait_word.                 { build->Get<Train>().wait.emplace(); }
train_clause ::= wait_word TIMEOUT number(V).
                                            { build->Get<Train>().wait = Wait{*V}; }
detach_word ::= DETACH(T).                  { build->Begin(Clause::kDetach, *T); }
train_clause ::= detach_word.               { build->Get<Train>().detach = true; }

// ---- EVALUATE and GENERATE.
statement ::= evaluation.
evaluation_open ::= EVALUATE(P) MODEL model_ref(M).
                                            { build->Start<Evaluate>(*P).model = *M; }
evaluation_open ::= evaluation_open evaluation_using.
evaluation ::= evaluation_open evaluation_from.
evaluation ::= evaluation evaluation_from.
evaluation ::= evaluation evaluation_using.
evaluation_from ::= from_word source(S).    { build->Get<Evaluate>().source = *S; }
evaluation_using ::= using_word options(L). { build->Get<Evaluate>().using_options = *L; }

statement ::= generation.
generation_open ::= GENERATE(P) FROM MODEL model_ref(M).
                                            { build->Start<Generate>(*P).model = *M; }
generation_open ::= generation_open generation_using.
generation ::= generation_open generation_prompt.
generation ::= generation generation_prompt.
generation ::= generation generation_using.
prompt_word ::= PROMPT(T).                  { build->Begin(Clause::kPrompt, *T); }
generation_prompt ::= prompt_word text(V).  { build->Get<Generate>().prompt = *V; }
generation_using ::= using_word options(L). { build->Get<Generate>().using_options = *L; }

// ---- IMPORT and EXPORT.
statement ::= IMPORT(P) MODEL name(N) FROM text(V).
                                            { build->Start<ImportModel>(*P) = {*N, *V, P->position}; }

statement ::= export.
export_open ::= EXPORT(P) MODEL model_ref(M).
                                            { build->Start<ExportModel>(*P).model = *M; }
export_to_open ::= export_open export_to.
export_to_open ::= export_to_open export_to.
export_format_open ::= export_open export_format.
export_format_open ::= export_format_open export_format.
export ::= export_to_open export_format.
export ::= export_format_open export_to.
export ::= export export_to.
export ::= export export_format.
to_word ::= TO(T).                          { build->Begin(Clause::kTo, *T); }
export_to ::= to_word text(V).              { build->Get<ExportModel>().directory = *V; }
export_format ::= format_word name(N).      { build->Get<ExportModel>().format = *N; }

// ---- Jobs.
statement ::= PAUSE(P) JOB jobs(L).         { build->StartJobVerb(*P, JobVerb::Verb::kPause, *L); }
statement ::= RESUME(P) JOB jobs(L).        { build->StartJobVerb(*P, JobVerb::Verb::kResume, *L); }
statement ::= CANCEL(P) JOB jobs(L).        { build->StartJobVerb(*P, JobVerb::Verb::kCancel, *L); }
statement ::= CHECKPOINT(P) JOB jobs(L).    { build->StartJobVerb(*P, JobVerb::Verb::kCheckpoint, *L); }
statement ::= RETRY(P) JOB jobs(L).         { build->StartJobVerb(*P, JobVerb::Verb::kRetry, *L); }
statement ::= ALTER(P) JOB job(J) SET(T) BUDGET budget(B).
                                            { build->StartAlterJob(*P, *J, *T, *B); }
statement ::= WAIT(P) FOR JOB jobs(L).      { build->Start<WaitForJob>(*P).jobs = *L; }
statement ::= WAIT(P) FOR JOB jobs(L) TIMEOUT number(V).
                                            { build->Start<WaitForJob>(*P) = {*L, *V, P->position}; }

// ---- The session.
statement ::= help.
help ::= HELP(P).                           { build->Start<Help>(*P); }
help ::= help WORD(T).                      { build->AppendHelpWord(*T); }
statement ::= SET(P) key(N) EQ value(V).    { build->Start<Set>(*P) = {*N, *V, P->position}; }
statement ::= RESET(P).                     { build->Start<Reset>(*P); }
statement ::= RESET(P) key(N).              { build->Start<Reset>(*P).name = *N; }
statement ::= LET(P) PARAMETER(T) EQ value(V).
                                            { build->Start<Let>(*P) = {build->MakeParameter(*T), *V, P->position}; }
statement ::= ASSERT(P) SQL(S).             { build->Start<Assert>(*P).condition = *S->sql; }
statement ::= ASSERT(P) SQL(S) COMMA text(V).
                                            { build->Start<Assert>(*P) = {*S->sql, *V, P->position}; }
statement ::= INCLUDE(P) text(V).           { build->Start<Include>(*P).file = *V; }
statement ::= SELECT(P) SQL(S).             { build->Start<Select>(*P).query = *S->sql; }
statement ::= WITH(P) SQL(S).               { build->Start<Select>(*P).query = *S->sql; }
