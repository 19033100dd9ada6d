// The memsim program: the command line. The only file that includes CLI11.
#include <CLI/CLI.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tools/memsim/commands.h"
#include "tools/memsim/finish.h"
#include "tools/memsim/output.h"

namespace memsim {
namespace {

void AddFormat(CLI::App* command, Options* options) {
  command->add_option("--format", options->format, "text, json or csv")->capture_default_str();
}

void AddOut(CLI::App* command, Options* options) {
  command->add_option("--out", options->out, "add the report to this file of records, for rerun and log");
}

void AddConfiguration(CLI::App* command, Options* options) {
  ConfigurationText& c = options->configuration;
  command->add_option("--kernel", c.kernel, "kernel generation; see `memsim list`")
      ->capture_default_str();
  command->add_option("--gate", c.gate, "how \"is memcg on?\" is asked (default: the kernel's own)");
  command->add_option("--memcg", c.memcg,
                      "disabled, root, or depth:N: where the tasks sit (default: root)");
  command->add_option("--cmdline", c.cmdline,
                      "boot line: cgroup_disable=memory, cgroup_enable=memory, swapaccount=0|1")
      ->take_all();
  command->add_option("--config", c.config,
                      "build: MEMCG=n, MEMCG_DEFAULT_ENABLED=n, MEMCG_SWAP=n; not on native: "
                      "PREEMPT_COUNT, PREEMPT_RCU, NUMA, FRAME_POINTER, FUNCTION_TRACER, TICKET_LOCKS")
      ->take_all();
  command->add_option("--memsw", c.memsw, "on or off: charge memory+swap as well (default: on)");
  command->add_option("--order", c.order,
                      "charge-first or uptodate-first (default: the kernel's own)");
  command->add_option("--batch", c.batch, "pages the stock takes at once (default: the kernel's 32)");
  command->add_option("--layout", c.layout, "layout of structures; only `kernel` for now")
      ->capture_default_str();
  command->add_option("--seed", c.seed, "seed of everything random (default: 1)");
}

void AddWorkload(CLI::App* command, Options* options) {
  ConfigurationText& c = options->configuration;
  command->add_option("--workload", c.workload, "pft, page_fault1, churn, or a .json file")
      ->capture_default_str();
  command->add_option("--threads", c.threads, "workers, one modelled CPU each (default: 1)");
  command->add_option("--faults", c.faults,
                      "pages per repetition, all workers together (default: the workload's, for each "
                      "worker if simulated; with --rest fault then at most 8192)");
  command->add_option("--region", c.region, "pages of address space of a worker (default: the workload's)");
  command->add_option("--rest", c.rest,
                      "what surrounds a charge: none (bare path), clear (zero a page), fault (a whole "
                      "fault); default: none on native, fault on a simulated machine");
}

void AddIrq(CLI::App* command, Options* options) {
  command
      ->add_option("--irq", options->configuration.irq,
                   "stand-in for masking interrupts: flag, popf, none")
      ->capture_default_str();
}

void AddSimulation(CLI::App* command, Options* options) {
  command->add_option("--seeds", options->seeds, "simulated: runs, each with a seed of its own")
      ->capture_default_str();
  command->add_flag("--strict", options->strict, "simulated: every access waits for its turn; slow");
  command->add_flag("--timer-charge", options->timer_charge,
                    "simulated: a timer interrupt charges a page to the memcg of the task it interrupts");
}

void AddRun(CLI::App& app, Options* options) {
  CLI::App* run = app.add_subcommand(
      "run", "time and profile one configuration; without arguments: the comparison of May 2015");
  AddConfiguration(run, options);
  AddWorkload(run, options);
  ConfigurationText& c = options->configuration;
  run->add_option("--machine", c.machine, "native, a machine model (see `memsim list`) or a .json file")
      ->capture_default_str();
  AddSimulation(run, options);
  run->add_option("--profile", options->profile,
                  "simulated: attributed, sampled beside it, or marginal beside both")
      ->capture_default_str();
  run->add_option("--sampler", options->sampler,
                  "simulated: nmi (a hardware counter's) or timer (held up while interrupts are off)")
      ->capture_default_str();
  AddIrq(run, options);
  run->add_option("--repetitions", options->repetitions, "timed repetitions")->capture_default_str();
  run->add_option("--samples", options->samples, "profile samples wanted")->capture_default_str();
  AddOut(run, options);
  AddFormat(run, options);
}

void AddLines(CLI::App& app, Options* options) {
  CLI::App* lines = app.add_subcommand(
      "lines", "which cache lines move between CPUs, and which fields do it, on a simulated machine");
  AddConfiguration(lines, options);
  AddWorkload(lines, options);
  lines->add_option("--machine", options->machine, "a machine model or a .json file")->capture_default_str();
  AddSimulation(lines, options);
  AddFormat(lines, options);
}

void AddCompare(CLI::App& app, Options* options) {
  CLI::App* compare = app.add_subcommand(
      "compare", "configurations on one machine: differences in all and by function, with verdicts");
  ConfigurationText& c = options->configuration;
  compare
      ->add_option("arms", options->arms,
                   "configurations, as in kernel=v4.0,gate=flag,memcg=root; the first is the base")
      ->required();
  compare
      ->add_option("--machine", c.machine,
                   "native (times with intervals), tracing (exact counts), or a machine model (see "
                   "`memsim list`) or .json file (exact for its seeds)")
      ->capture_default_str();
  compare->add_option("--seconds", options->seconds,
                      "native: time for the rounds and the samples (default: 10)");
  compare->add_option("--until", options->until, "native: stop when no 95 % interval is wider, as in 0.1ns");
  compare->add_option("--seeds", options->compare_seeds,
                      "simulated: runs of each arm (default: 8; fewer make no verdict)");
  compare->add_option("--threads", c.threads, "workers, on tracing and simulated machines (default: 1)");
  compare->add_option("--faults", c.faults,
                      "pages of a slice, all workers together (default: 1024; simulated: the workload's)");
  compare->add_option("--rest", c.rest,
                      "what surrounds a charge, for all: none (bare path), clear, fault; default: none, "
                      "fault on a simulated machine");
  compare->add_option("--seed", c.seed, "of the order in the rounds, or the first simulated (default: 1)");
  AddOut(compare, options);
  compare->add_option("--format", options->format, "text, mmtests, lkp, json or csv")->capture_default_str();
}

void AddCount(CLI::App& app, Options* options) {
  CLI::App* count = app.add_subcommand(
      "count", "instructions per page by function, counted by valgrind, and hardware counters");
  AddConfiguration(count, options);
  AddWorkload(count, options);
  AddIrq(count, options);
  count->add_option("--repetitions", options->repetitions, "with hardware counters")->capture_default_str();
  AddFormat(count, options);
  count->add_flag("--inside-valgrind", options->inside_valgrind)->group("");  // not for users
}

void AddPft(CLI::App& app, Options* options) {
  CLI::App* pft = app.add_subcommand(
      "pft", "mmtests' table of the page fault test on a simulated machine, beside the published one");
  pft->add_option("--machine", options->machine, "a machine model or a .json file")->capture_default_str();
  pft->add_option("--clients", options->clients,
                  "numbers of clients, as in 1,3,5 (default: 1,3,5,7,8 as far as the machine has CPUs)");
  pft->add_option("--column", options->columns,
                  "KERNEL[:MEMCG[:GATE]], as often as wanted (default: the three kernels of 2015)")
      ->take_all();
  pft->add_option("--pages", options->pages, "pages each client faults")->capture_default_str();
  pft->add_option("--seeds", options->seeds, "simulations of each cell")->capture_default_str();
  pft->add_option("--seed", options->configuration.seed, "the first seed (default: 1)");
  AddOut(pft, options);
  AddFormat(pft, options);
}

void AddExplain(CLI::App& app, Options* options) {
  CLI::App* explain =
      app.add_subcommand("explain", "one operation step by step, as a teacher would want it");
  AddConfiguration(explain, options);
  explain->add_option("--event", options->event, "fault, uncharge, miss, or limit")
      ->capture_default_str();
  explain->add_flag("--brief", options->brief, "one screen: calls and the summary");
  AddFormat(explain, options);
}

void AddLayout(CLI::App& app, Options* options) {
  CLI::App* layout = app.add_subcommand("layout", "the modelled structures, field by field");
  layout->add_option("--kernel", options->configuration.kernel, "kernel generation")
      ->capture_default_str();
  layout->add_option("--struct", options->structure, "only structures whose name contains this");
  AddFormat(layout, options);
}

void AddCalibrate(CLI::App& app, Options* options) {
  CLI::App* calibrate = app.add_subcommand(
      "calibrate", "measure this host and write a machine file for `memsim run --machine`; 10 to 30 s");
  calibrate->add_option("--output", options->output, "the machine file to write (default: none)");
  calibrate->add_option("--rounds", options->rounds, "rounds; under 6 there is no 95 % interval")
      ->capture_default_str();
  calibrate->add_option("--seed", options->configuration.seed, "seed of the random walks (default: 1)");
  AddFormat(calibrate, options);
}

void AddRecords(CLI::App& app, Options* options) {
  CLI::App* rerun = app.add_subcommand(
      "rerun", "what a record of --out was made with, once more, beside what it said then");
  rerun->add_option("record", options->reference, "FILE#N: record N, a line of the file")->required();
  AddOut(rerun, options);
  AddFormat(rerun, options);
  CLI::App* log = app.add_subcommand("log", "the records of --out over time, as tables and as a plot");
  log->add_option("file", options->reference, "FILE, or FILE#N for the configuration of record N alone")
      ->required();
  log->add_option("--plot", options->plot, "draw them into this .svg or .png file; needs gnuplot");
  AddFormat(log, options);
}

// The configuration flags make the difference between one run and the demo.
bool IsDemo(const CLI::App& run) {
  for (const CLI::Option* option : run.get_options()) {
    const std::string name = option->get_name();
    if (option->count() > 0 && name != "--format" && name != "--seed" && name != "--out") return false;
  }
  return true;
}

class CommandLine {
 public:
  CommandLine() {
    app_.require_subcommand(1);
    app_.set_version_flag("--version", MEMSIM_VERSION);
    AddRun(app_, &options);
    AddLines(app_, &options);
    AddCompare(app_, &options);
    AddCount(app_, &options);
    AddPft(app_, &options);
    AddExplain(app_, &options);
    AddLayout(app_, &options);
    AddCalibrate(app_, &options);
    AddRecords(app_, &options);
    AddFormat(app_.add_subcommand("list", "the names of kernels, gates, machines and workloads"), &options);
    app_.footer(
        "Model files are read from $MEMSIM_MODELS, else from beside the program.\n"
        "Exit status: 0, 2 for wrong input, 130 after Ctrl-C (what was printed is marked PARTIAL).");
  }

  // What the options ask to be printed instead of a report, as --help does; nothing to go on.
  absl::StatusOr<std::string> Parse(const std::vector<std::string>& arguments) {
    options.arguments = arguments;
    try {
      app_.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::Success& wanted) {
      std::ostringstream text;
      app_.exit(wanted, text, text);
      return text.str();
    } catch (const CLI::ParseError& error) {
      return absl::InvalidArgumentError(std::string(error.what()) +
                                        "; valid: see `memsim --help`, `memsim run --help`");
    }
    return "";
  }

  // Whether it is a command that --out keeps.
  bool Kept() const {
    return app_.got_subcommand("run") || app_.got_subcommand("compare") || app_.got_subcommand("pft");
  }

  int Execute();

  Options options;

 private:
  CLI::App app_{"memsim: what the Linux memory controller (memcg) costs on the page-fault charge path.\n"
                "Start with `memsim run`, `memsim explain --brief`, `memsim list`."};
};

int Rerun(const Options& options) {
  const auto record = ReadRecord(options.reference);
  if (!record.ok()) return Refuse(record.status());
  CommandLine again;
  const auto parsed = again.Parse(record->arguments);
  if (!parsed.ok() || !parsed->empty() || !again.Kept()) {
    return Refuse(absl::InvalidArgumentError(absl::StrCat(
        "'", options.reference, "': its command line is not understood: ",
        parsed.ok() ? "valid: that of run, compare or pft" : parsed.status().message())));
  }
  again.options.reference = options.reference;
  again.options.repeated = &*record;
  again.options.out = options.out;
  again.options.format = options.format;
  return again.Execute();
}

int CommandLine::Execute() {
  if (const CLI::App* run = app_.get_subcommand("run"); run->parsed()) options.demo = IsDemo(*run);
  if (app_.got_subcommand("rerun")) return Rerun(options);
  if (auto status = CheckOut(options); !status.ok()) return Refuse(status);
  if (app_.got_subcommand("run")) return Run(options);
  if (app_.got_subcommand("lines")) {
    options.configuration.machine = options.machine;
    return Lines(options);
  }
  if (app_.got_subcommand("compare")) return CompareCommand(options);
  if (app_.got_subcommand("count")) return CountCommand(options);
  if (app_.got_subcommand("pft")) return Pft(options);
  if (app_.got_subcommand("explain")) return ExplainCommand(options);
  if (app_.got_subcommand("layout")) return Layout(options);
  if (const CLI::App* calibrate = app_.get_subcommand("calibrate"); calibrate->parsed()) {
    options.has_output = calibrate->count("--output") > 0;
    return CalibrateCommand(options);
  }
  if (app_.got_subcommand("log")) return LogCommand(options);
  return List(options);
}

int Main(int argc, char** argv) {
  if (const int status = CheckStandardOutput(); status != kOk) return status;
  CommandLine line;
  const auto parsed = line.Parse(std::vector<std::string>(argv + 1, argv + argc));
  if (!parsed.ok()) return Refuse(parsed.status());
  return parsed->empty() ? line.Execute() : Print(*parsed);
}

}  // namespace
}  // namespace memsim

int main(int argc, char** argv) { return memsim::Main(argc, argv); }
