#include "baselines/programs/step_doubts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "reporters/verbose/primitive.h"

namespace dlroof::programs {
namespace {

bool MovesData(const verbose::PrimitiveText& text) {
  return text.kind == "reorder" || text.kind == "transform";
}

bool IsProduct(const verbose::PrimitiveText& text) {
  return text.kind == "gemm_api" || text.kind == "matmul";
}

// [1] elements of the tensor that a call reads first, and of the one that it writes.
struct ElementCounts {
  double in = 0, out = 0;
};

// Returns them if the call is of a layer, and its problem has a known form.
std::optional<ElementCounts> ElementsOf(const verbose::PrimitiveText& text) {
  if (MovesData(text)) return std::nullopt;
  if (const auto dims = verbose::ReadDimsList(text.problem); dims && !dims->front().empty()) {
    const double in = verbose::ProductOf(dims->front());
    if (dims->size() < 2 || text.kind == "binary" || dims->at(1).empty())
      return ElementCounts{in, in};
    return ElementCounts{in, in / dims->front().back() * dims->at(1).back()};
  }
  const auto sizes = verbose::LetterSizes::Read(text.problem);
  if (!sizes) return std::nullopt;
  const double samples = sizes->Or("mb", 1) * sizes->Or("t", 1);
  if (sizes->Has("sic"))
    return ElementCounts{samples * sizes->Or("slc", 1), samples * sizes->Or("dlc", 1)};
  return ElementCounts{samples * sizes->Or("ic", 1) * sizes->Image('i'),
                       samples * sizes->Or("oc", 1) * sizes->Image('o')};
}

// Returns the layer of a primitive: its kind, pass, channels and filter, whatever the image, the
// sequence and the batch. "" if its problem has no known form.
std::string LayerOf(const verbose::PrimitiveText& text) {
  if (const auto dims = verbose::ReadDimsList(text.problem); dims && dims->size() > 1)
    return fmt::format("{} {} {}", text.kind, text.prop, fmt::join(dims->at(1), "x"));
  const auto sizes = verbose::LetterSizes::Read(text.problem);
  if (!sizes) return "";
  std::string layer = text.kind + ' ' + text.prop;
  for (const char* key : {"g", "ic", "oc", "kd", "kh", "kw", "sic", "dhc"})
    layer += fmt::format(" {}", sizes->Or(key, 0));
  return layer;
}

// A log with the number of each primitive's layer.
struct Checked : CheckedLog {
  explicit Checked(const CheckedLog& checked) : CheckedLog(checked) {
    std::map<std::string, int> numbers;
    const auto number_of = [&](const std::string& text) {
      return text.empty()
                 ? kUnknown
                 : numbers.try_emplace(text, static_cast<int>(numbers.size())).first->second;
    };
    for (const auto& text : log.primitives) {
      layer.push_back(number_of(LayerOf(text)));
      auto any_pass = text;
      any_pass.prop.clear();
      layer_of_any_pass.push_back(number_of(LayerOf(any_pass)));
    }
  }

  static constexpr int kUnknown = -1;
  // By primitive: the same for the same layer with other sizes; kUnknown.
  std::vector<int> layer, layer_of_any_pass;
};

// [s] idle time before each step but the first; empty if the log has no time stamps.
std::vector<double> PausesBefore(const verbose::VerboseLog& log,
                                 const std::vector<std::size_t>& main, const Steps& steps) {
  std::vector<double> pauses;
  for (std::size_t i = 1; i < steps.ranges.size(); ++i) {
    const auto& first = log.executions[main[steps.ranges[i].begin]];
    const auto& before = log.executions[main[steps.ranges[i].begin - 1]];
    if (!first.start_seconds || !before.start_seconds) return {};
    pauses.push_back(*first.start_seconds - *before.start_seconds - before.seconds);
  }
  return pauses;
}

// Returns k if the pause before every k-th segment is longer than most others.
std::optional<std::size_t> LongPauses(const std::vector<double>& pauses) {
  constexpr std::size_t kMost = 128, kLeastSteps = 3;
  constexpr double kLonger = 1.3, kUpper = 0.9, kLower = 0.1;
  const auto quantile = [](std::vector<double> values, double share) {
    const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
    std::ranges::nth_element(values, values.begin() + at);
    return values[static_cast<std::size_t>(at)];
  };
  for (std::size_t k = 2; k <= kMost && kLeastSteps * k <= pauses.size() + 1; ++k) {
    if ((pauses.size() + 1) % k != 0) continue;
    std::vector<double> between, within;
    for (std::size_t i = 0; i < pauses.size(); ++i)
      ((i + 1) % k == 0 ? between : within).push_back(pauses[i]);
    if (quantile(between, kLower) > kLonger * quantile(within, kUpper)) return k;
  }
  return std::nullopt;
}

// Joins `k` segments to one.
void Join(std::size_t k, Steps& steps) {
  std::vector<StepRange> joined;
  for (std::size_t i = 0; i + k <= steps.ranges.size(); i += k)
    joined.push_back({steps.ranges[i].begin, steps.ranges[i + k - 1].end, {}, {}});
  steps.ranges = std::move(joined);
}

// Decides whether segments that are the same from the first to the last may be layers of a step: if
// nothing goes backward, and the last call's result could be the first one's input. A longer pause
// before every k-th segment is evidence for steps of k.
void CheckLayers(const Checked& checked, Steps& steps) {
  const auto& [log, main, passes, stream] = static_cast<const CheckedLog&>(checked);
  if (steps.irregular > 0) return;
  const auto& first_range = steps.ranges.front();
  std::optional<ElementCounts> first, last;
  for (std::size_t i = first_range.begin; i < first_range.end; ++i) {
    const auto primitive = log.executions[main[i]].primitive;
    if (passes[primitive] == Pass::kBackward) return;
    const auto elements = ElementsOf(log.primitives[primitive]);
    if (!elements) continue;
    if (!first) first = elements;
    last = elements;
  }
  if (!first || first->in != last->out) return;
  const auto found = static_cast<int>(steps.ranges.size());
  if (const auto k = LongPauses(PausesBefore(log, main, steps))) {
    Join(*k, steps);
    steps.total = static_cast<int>(steps.ranges.size());
    steps.other = found;
    steps.doubt = Reason{fmt::format(
        "{} equal segments, with a longer pause before every {}th: layers of a step?", found, *k)};
    return;
  }
  steps.doubt = Reason{fmt::format(
      "{} equal segments, each of which could follow any other: steps, or layers of fewer steps?",
      found)};
}

// Doubts steps that contain the same layers several times, with images of other sizes.
void CheckSizes(const Checked& checked, Steps& steps) {
  std::vector<std::uint32_t> layers;
  for (const auto one : checked.stream) {
    if (MovesData(checked.log.primitives[one])) continue;
    if (checked.layer[one] == Checked::kUnknown) return;
    layers.push_back(static_cast<std::uint32_t>(checked.layer[one]));
  }
  const auto coarse = FindSteps(layers, 2 * checked.layer.size());
  if (coarse.from == StepsFrom::kNone || coarse.total < 2 * steps.total - 1) return;
  steps.other = coarse.total;
  steps.doubt = Reason{"the same layers follow with other sizes"};
}

// Doubts steps whose layers often occur outside of them.
void CheckOutside(const Checked& checked, Steps& steps) {
  constexpr double kMostOutside = 0.2;  // [1] of the calls of a step's layers
  std::vector<bool> in_step(checked.log.primitives.size());
  const auto is_layer = [&](std::uint32_t one) { return !MovesData(checked.log.primitives[one]); };
  double inside = 0, all = 0;
  for (const auto& range : steps.ranges)
    for (std::size_t i = range.begin; i < range.end; ++i) {
      in_step[checked.stream[i]] = true;
      inside += is_layer(checked.stream[i]) ? 1 : 0;
    }
  // Segments that contain a step and more.
  inside *= steps.total / static_cast<double>(steps.ranges.size());
  for (const auto one : checked.stream) all += in_step[one] && is_layer(one) ? 1 : 0;
  if (all - inside <= kMostOutside * all) return;
  steps.doubt = Reason{fmt::format("{:.0f} % of the calls of a step's layers are in no step",
                                   100 * (all - inside) / all)};
}

// Returns whether the call computes gradients of weights, or all gradients of a layer. The gradient
// of data may also be the forward pass of a transposed convolution.
bool IsOfWeights(const Checked& checked, std::size_t i) {
  const auto& prop = checked.log.primitives[checked.stream[i]].prop;
  return prop == "backward_weights" || prop == "backward";
}

// Doubts training steps if there are backward passes in no step, as of steps with other sizes.
void CheckBackward(const Checked& checked, Steps& steps) {
  constexpr double kLeast = 0.75;  // [1] of a step's backward calls
  double inside = 0, all = 0;
  for (const auto& range : steps.ranges)
    for (std::size_t i = range.begin; i < range.end; ++i) inside += IsOfWeights(checked, i) ? 1 : 0;
  for (std::size_t i = 0; i < checked.stream.size(); ++i) all += IsOfWeights(checked, i) ? 1 : 0;
  const double of_step = inside / static_cast<double>(steps.ranges.size());
  const double outside = all - of_step * steps.total;
  if (inside == 0 || outside < kLeast * of_step) return;
  steps.other = steps.total + static_cast<int>(std::lround(outside / of_step));
  steps.doubt = Reason{
      fmt::format("{:.0f} % of the backward calls are in no step, as of steps with other sizes",
                  100 * outside / all)};
}

// Corrects the number of steps if most of their layers, whatever their sizes, are executed for
// another number, and doubts it if some are: other code than oneDNN's may execute the other layers
// of a small batch. Of training steps only the layers with gradients of weights count, since
// evaluations have the others too, and products without a direction may be of either.
void CheckLayerCounts(const Checked& checked, Steps& steps) {
  constexpr double kMost = 0.8;  // [1] of the layers, which are right if they agree
  const auto& primitives = checked.log.primitives;
  std::map<int, double> of_steps, all;
  bool training = false;
  for (const auto& range : steps.ranges)
    for (std::size_t i = range.begin; i < range.end; ++i) {
      training = training || IsOfWeights(checked, i);
      const auto& text = primitives[checked.stream[i]];
      if (!MovesData(text) && text.prop == "undef") return;
    }
  const auto count = [&](std::size_t i, std::map<int, double>& calls) {
    const auto one = checked.stream[i];
    if (checked.layer[one] == Checked::kUnknown || MovesData(primitives[one]) ||
        (training && !IsOfWeights(checked, i)))
      return;
    ++calls[checked.layer[one]];
  };
  for (const auto& range : steps.ranges)
    for (std::size_t i = range.begin; i < range.end; ++i) count(i, of_steps);
  for (std::size_t i = 0; i < checked.stream.size(); ++i) count(i, all);
  std::map<double, double> numbers;  // of steps -> layers that are executed for so many
  for (const auto& [layer, calls] : of_steps) {
    const double steps_of =
        std::round(all[layer] / calls * static_cast<double>(steps.ranges.size()));
    if (steps_of > steps.total) ++numbers[steps_of];
  }
  if (numbers.empty()) return;
  const auto most =
      std::ranges::max_element(numbers, {}, [](const auto& one) { return one.second; });
  const auto layers = static_cast<double>(of_steps.size());
  if (most->second >= std::max(2.0, kMost * layers) && most->first <= 2 * steps.total) {
    steps.total = static_cast<int>(most->first);
    return;
  }
  steps.other = static_cast<int>(most->first);
  steps.doubt = Reason{
      fmt::format("{:.0f} of their {:.0f} layers are executed as often as {} steps have them",
                  most->second, layers, *steps.other)};
}

// Doubts steps in which a layer goes backward, then forward and backward again with another size: a
// step of one network has all forward calls before the backward ones.
void CheckPasses(const Checked& checked, Steps& steps) {
  const auto& primitives = checked.log.primitives;
  const auto primitive = [&](std::size_t i) {
    return checked.log.executions[checked.main[i]].primitive;
  };
  double passes = 0;  // of all steps
  for (const auto& range : steps.ranges) {
    // By layer: the problems that went backward, and those that went forward after that.
    std::map<int, std::set<std::string>> backward, again;
    std::size_t most = 1;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const auto& text = primitives[primitive(i)];
      const bool is_backward = text.prop == "backward_weights" || text.prop == "backward";
      if (!is_backward && !text.prop.starts_with("forward")) continue;
      const int key = checked.layer_of_any_pass[primitive(i)];
      if (key == Checked::kUnknown) continue;
      auto& done = backward[key];
      if (!is_backward) {
        if (!done.empty() && !done.contains(text.problem)) again[key].insert(text.problem);
      } else if (done.empty() || again[key].contains(text.problem)) {
        done.insert(text.problem);
        most = std::max(most, done.size());
      }
    }
    passes += static_cast<double>(most);
  }
  const auto found = static_cast<double>(steps.ranges.size());
  if (passes < 1.5 * found) return;
  steps.other = static_cast<int>(std::lround(passes / found * steps.total));
  steps.doubt = Reason{
      "within a step layers go backward, and then forward and backward again with other sizes"};
}

// Doubts steps of which many layers do not occur often enough in the log for so many steps, or a
// product without a direction: it may be the only call that tells training from an evaluation.
void CheckLacking(const Checked& checked, Steps& steps) {
  constexpr double kLeast = 0.2;  // [1] of a step's distinct layers
  const auto& primitives = checked.log.primitives;
  // A layer with other sizes in some steps occurs in them, too.
  const auto key_of = [&](std::uint32_t one) {
    return checked.layer[one] == Checked::kUnknown ? -2 - static_cast<int>(one)
                                                   : checked.layer[one];
  };
  std::map<int, double> of_steps, all;
  std::map<int, bool> is_product;
  for (const auto& range : steps.ranges)
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const auto one = checked.stream[i];
      if (MovesData(primitives[one])) continue;
      const auto key = key_of(one);
      ++of_steps[key];
      is_product[key] = IsProduct(primitives[one]);
    }
  for (const auto one : checked.stream)
    if (!MovesData(primitives[one])) ++all[key_of(one)];
  double lacking = 0, most = 0;
  bool product = false;
  for (const auto& [key, calls] : of_steps) {
    const double enough_for = all[key] / calls * static_cast<double>(steps.ranges.size());
    if (enough_for > steps.total - 1.5) continue;
    ++lacking;
    most = std::max(most, enough_for);
    product = product || is_product[key];
  }
  const auto layers = static_cast<double>(of_steps.size());
  if (lacking == 0 || (lacking < kLeast * layers && !product)) return;
  steps.other = static_cast<int>(std::lround(most));
  steps.doubt = Reason{fmt::format("{:.0f} of a step's {:.0f} distinct layers occur in {} only",
                                   lacking, layers, *steps.other)};
}

// Doubts steps of which some lack a product without a direction: it may be all that oneDNN executes
// of a backward pass, and those without it evaluations.
void CheckProducts(const Checked& checked, Steps& steps) {
  std::map<std::uint32_t, std::size_t> with;  // steps that have a product
  for (const auto& range : steps.ranges) {
    std::set<std::uint32_t> seen;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const auto& text = checked.log.primitives[checked.stream[i]];
      if (IsProduct(text) && text.prop == "undef") seen.insert(checked.stream[i]);
    }
    for (const auto one : seen) ++with[one];
  }
  const auto number = steps.ranges.size();
  for (const auto& [one, times] : with) {
    if (2 * times < number || times + 2 > number) continue;
    const double share = static_cast<double>(times) / static_cast<double>(number);
    steps.other = static_cast<int>(std::lround(share * steps.total));
    steps.doubt = Reason{fmt::format(
        "a product occurs in {} of {} only, as if the others were evaluations", times, number)};
    return;
  }
}

// Returns the number of segments that repeat in a part of the stream if they are another loop: with
// gradients of their own in a program that trains, else with layers that a step has not. Otherwise
// they are evaluations, which repeat as well.
int StepsOfOtherLoop(const Checked& checked, const Steps& steps, std::size_t begin,
                     std::size_t end) {
  constexpr double kLeastOthers = 0.1;  // [1] of the calls
  const auto& range = steps.ranges.front();
  std::set<std::uint32_t> of_step;
  bool training = false;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    of_step.insert(checked.stream[i]);
    training = training || IsOfWeights(checked, i);
  }
  double gradients = 0, others = 0, layers = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (MovesData(checked.log.primitives[checked.stream[i]])) continue;
    ++layers;
    gradients += IsOfWeights(checked, i) ? 1 : 0;
    others += of_step.contains(checked.stream[i]) ? 0 : 1;
  }
  if (!training && others <= kLeastOthers * layers) return 0;
  const auto found = FindSteps(std::span(checked.stream).subspan(begin, end - begin),
                               checked.passes.size(), std::nullopt, checked.passes);
  if (found.from == StepsFrom::kNone || (training && gradients < found.total)) return 0;
  return found.total;
}

// Doubts steps that those of another loop follow or precede, with other layers or sizes.
void CheckOtherLoops(const Checked& checked, Steps& steps) {
  constexpr int kLeastSteps = 3;
  const int others =
      std::max(StepsOfOtherLoop(checked, steps, 0, steps.ranges.front().begin),
               StepsOfOtherLoop(checked, steps, steps.ranges.back().end, checked.stream.size()));
  // Some may be in the number already.
  const int counted = steps.total - static_cast<int>(steps.ranges.size());
  if (others < kLeastSteps + counted) return;
  steps.other = steps.total + others;
  steps.doubt = Reason{
      fmt::format("{} other segments that repeat follow or precede them: another loop?", others)};
}

// Doubts steps every k-th of which has another batch size, if k is small: a k-th one may end an
// epoch, or a step of k parts.
void CheckBatches(const Checked& checked, Steps& steps) {
  // Calls of each of the log's primitives, which differ in the batch if they are one of the stream.
  std::vector<double> calls(checked.log.primitives.size());
  std::vector<double> most(checked.log.primitives.size());
  const auto primitive = [&](std::size_t i) {
    return checked.log.executions[checked.main[i]].primitive;
  };
  for (std::size_t i = 0; i < checked.main.size(); ++i)
    most[checked.stream[i]] = std::max(most[checked.stream[i]], ++calls[primitive(i)]);
  std::vector<std::size_t> others;  // steps with another batch
  for (std::size_t step = 0; step < steps.ranges.size(); ++step) {
    const auto& range = steps.ranges[step];
    bool other = false;
    for (std::size_t i = range.begin; i < range.end; ++i)
      other = other || calls[primitive(i)] < most[checked.stream[i]];
    if (other) others.push_back(step);
  }
  if (others.size() < 2) return;
  const auto apart = others[1] - others[0];
  for (std::size_t i = 1; i < others.size(); ++i)
    if (others[i] - others[i - 1] != apart) return;
  if (apart < 2 || others.size() <= apart) return;
  steps.other = static_cast<int>(std::lround(steps.total / static_cast<double>(apart)));
  steps.doubt = Reason{
      fmt::format("one of {} in turn has another batch size: the last batch of an epoch, or a "
                  "part of a step?",
                  apart)};
}

// Returns a primitive, whatever its batch, that computes gradients of weights once in a step.
std::optional<std::uint32_t> GradientOncePerStep(const Checked& checked, const Steps& steps) {
  const auto& range = steps.ranges[steps.ranges.size() / 2];
  std::map<std::uint32_t, int> calls;
  for (std::size_t i = range.begin; i < range.end; ++i)
    if (IsOfWeights(checked, i)) ++calls[checked.stream[i]];
  for (const auto& [one, times] : calls)
    if (times == 1) return one;
  return std::nullopt;
}

// Doubts training steps if each batch size comes twice, three times, ... in a row: a step may pass
// each batch through the network several times.
void CheckRuns(const Checked& checked, Steps& steps) {
  const auto gradient = GradientOncePerStep(checked, steps);
  if (!gradient) return;
  std::vector<std::uint32_t> batches;  // by call: the primitive with its batch
  for (std::size_t i = 0; i < checked.stream.size(); ++i)
    if (checked.stream[i] == *gradient)
      batches.push_back(checked.log.executions[checked.main[i]].primitive);
  std::map<std::uint32_t, int> runs;  // of each batch
  std::size_t common = 0;
  for (std::size_t i = 0, end = 0; i < batches.size(); i = end) {
    while (end < batches.size() && batches[end] == batches[i]) ++end;
    ++runs[batches[i]];
    common = std::gcd(common, end - i);
  }
  if (common < 2 || runs.size() < 2 ||
      std::ranges::any_of(runs, [](const auto& one) { return one.second < 2; }))
    return;
  steps.other = steps.total / static_cast<int>(common);
  steps.doubt = Reason{
      fmt::format("each batch size comes {} times in a row, or a multiple: several passes of "
                  "each batch?",
                  common)};
}

// Doubts few steps: equal parts of a log may be epochs.
void CheckFew(const Checked&, Steps& steps) {
  constexpr std::size_t kFew = 3;
  if (steps.ranges.size() > kFew) return;
  steps.doubt = Reason{
      fmt::format("only {} segments are equal: steps, or epochs and other parts of the program?",
                  steps.ranges.size())};
}

// Doubts steps that have one call of one layer: the program may call it several times in a step.
void CheckSingle(const Checked& checked, Steps& steps) {
  const auto& range = steps.ranges.front();
  int layers = 0;
  for (std::size_t i = range.begin; i < range.end; ++i)
    layers += MovesData(checked.log.primitives[checked.stream[i]]) ? 0 : 1;
  if (layers > 1) return;
  steps.doubt = Reason{fmt::format(
      "{} times the only layer that oneDNN executes: steps, or several calls in each of fewer?",
      steps.total)};
}

// Compares the number of steps with what the program's own output counts.
void CheckCounts(const verbose::VerboseLog& log, Steps& steps) {
  if (log.counts.empty()) return;
  for (const auto& count : log.counts) {
    if (count.steps * count.times == steps.total) {
      steps.confirmed = true;
      steps.doubt.reset();
      return;
    }
  }
  const auto& most = std::ranges::max(
      log.counts, {}, [](const verbose::OutputCount& one) { return one.steps * one.times; });
  const auto other = most.steps * most.times;
  // A smaller number counts something else, such as epochs.
  if (steps.doubt || 2 * other < steps.total) return;
  steps.other = static_cast<int>(other);
  steps.doubt = Reason{fmt::format("its output counts to {}{}", most.steps,
                                   most.times > 1 ? fmt::format(", {} times", most.times) : "")};
}

}  // namespace

void CheckSteps(const CheckedLog& log, Steps& steps) {
  const Checked checked(log);
  for (const auto check : {CheckLayers, CheckSingle, CheckSizes, CheckPasses, CheckLacking,
                           CheckProducts, CheckLayerCounts, CheckBackward, CheckRuns,
                           CheckOtherLoops, CheckBatches, CheckOutside, CheckFew})
    if (!steps.doubt) check(checked, steps);
  CheckCounts(checked.log, steps);
}

}  // namespace dlroof::programs
