#include "baselines/programs/program_pair.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <map>

#include "baselines/programs/implementation_family.h"
#include "counters/base/error.h"

namespace dlroof::programs {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsBias(const verbose::Tensor& tensor) { return tensor.role.find("bia") != std::string::npos; }

// Returns whether the tensor is internal to the implementation: a scratchpad or a workspace.
bool IsInternal(const verbose::Tensor& tensor) {
  return tensor.role.starts_with("ws") || tensor.role.starts_with("workspace") ||
         tensor.role.starts_with("scratchpad");
}

bool IsConvolution(std::string_view kind) { return kind.find("convolution") != std::string::npos; }

// Returns the words of a log line's auxiliary field that name the operation, without the algorithm
// of a convolution (direct, Winograd), which does not change the result.
std::string OperationWords(const verbose::PrimitiveText& text) {
  std::string words;
  for (const char* key : {"alg", "axis", "direction"}) {
    if (IsConvolution(text.kind) && std::string_view(key) == "alg") continue;
    if (const auto word = verbose::WordOf(text.auxiliary, key); !word.empty())
      words += fmt::format(" {}:{}", key, word);
  }
  return words;
}

// Returns "mb8_ic64oc64_ih56oh56kh3ph1" without the sizes of the input image and the padding.
// Returns texts of another form unchanged.
std::string WithoutPadding(const std::string& problem) {
  std::string outputs;
  std::size_t at = 0;
  while (at < problem.size()) {
    const auto begin = at;
    while (at < problem.size() && !IsDigit(problem[at])) ++at;
    if (at == problem.size() || at == begin) return problem;  // another form
    auto letters = problem.substr(begin, at - begin);
    const auto number = at;
    while (at < problem.size() && IsDigit(problem[at])) ++at;
    std::erase(letters, '_');
    const bool image = letters.size() == 2 && (letters[0] == 'i' || letters[0] == 'p') &&
                       std::string_view("dhw").find(letters[1]) != std::string_view::npos;
    if (!image) outputs += letters + problem.substr(number, at - number);
  }
  return outputs;
}

// Returns text(primitive) of all primitives, each text once: "jit:avx2 + brgconv:avx2".
std::string Joined(const std::vector<verbose::Primitive>& primitives,
                   const std::function<std::string(const verbose::Primitive&)>& text) {
  std::vector<std::string> texts;
  for (const auto& primitive : primitives)
    if (auto one = text(primitive); std::ranges::find(texts, one) == texts.end())
      texts.push_back(std::move(one));
  return fmt::format("{}", fmt::join(texts, " + "));
}

std::string OrNone(const std::string& text) { return text.empty() ? "none" : text; }

// Returns the attributes without the scratchpad mode, which does not affect the result.
std::string AttributesOf(const verbose::Primitive& primitive) {
  std::string others;
  const std::string_view all = primitive.text.attributes;
  for (std::size_t begin = 0; begin < all.size();) {
    const auto end = std::min(all.find(' ', begin), all.size());
    const auto word = all.substr(begin, end - begin);
    if (!word.empty() && !word.starts_with("attr-scratchpad") && !word.starts_with("scratchpad"))
      others += fmt::format("{}{}", others.empty() ? "" : " ", word);
    begin = end + 1;
  }
  return OrNone(others);
}

std::string TagOf(const verbose::Primitive& primitive, const std::string& role) {
  for (const auto& tensor : primitive.tensors)
    if (tensor.role == role && tensor.type != "undef") return OrNone(tensor.tag);
  return "none";
}

// Returns the tensors' roles ("src", "wei") of both programs' primitives, A's first.
std::vector<std::string> RolesOf(const std::vector<verbose::Primitive>& a,
                                 const std::vector<verbose::Primitive>& b) {
  std::vector<std::string> roles;
  for (const auto* side : {&a, &b})
    for (const auto& primitive : *side)
      for (const auto& tensor : primitive.tensors)
        if (!IsBias(tensor) && !IsInternal(tensor) && tensor.type != "undef" &&
            std::ranges::find(roles, tensor.role) == roles.end())
          roles.push_back(tensor.role);
  return roles;
}

std::string BiasOf(const verbose::Primitive& primitive) {
  for (const auto& tensor : primitive.tensors)
    if (IsBias(tensor) && tensor.type != "undef") return "yes";
  return "no";
}

// A primitive to match.
struct Candidate {
  const PrimitiveUse* use = nullptr;
  verbose::Primitive primitive;
  bool matched = false;
};

using Candidates = std::vector<Candidate>;

// Returns the primitives to match, without reorders and copies, which are only counted by kind.
Candidates CandidatesOf(const std::vector<PrimitiveUse>& uses) {
  Candidates candidates;
  for (const auto& use : uses)
    if (!use.primitive->moves_data)
      candidates.push_back({&use, verbose::ReadPrimitive(use.primitive->text)});
  // Restores the order of appearance in the log.
  std::ranges::sort(candidates, {}, [](const Candidate& one) { return one.use->primitive; });
  return candidates;
}

ProblemSide SideOf(const std::vector<Candidate*>& group) {
  ProblemSide side;
  double roofs = 0;
  bool known = true;
  for (const auto* one : group) {
    const auto& use = *one->use;
    side.primitives.push_back(use.primitive);
    side.sum.Add({use.calls, use.seconds});
    side.lower_quarter_seconds += use.calls * use.primitive->times.lower_quarter;
    side.upper_quarter_seconds += use.calls * use.primitive->times.upper_quarter;
    roofs += use.roof_seconds.value_or(0);
    known = known && use.roof_seconds.has_value();
  }
  if (known && !group.empty()) side.roof_seconds = roofs;
  return side;
}

std::vector<verbose::Primitive> PrimitivesOf(const std::vector<Candidate*>& group) {
  std::vector<verbose::Primitive> primitives;
  primitives.reserve(group.size());
  for (const auto* one : group) primitives.push_back(one->primitive);
  return primitives;
}

std::string NumberOfCalls(const ProblemSide& side) { return fmt::format("{:.4g}", side.sum.calls); }

ProblemRow RowOf(const std::vector<Candidate*>& a, const std::vector<Candidate*>& b) {
  const auto& named = (a.empty() ? b : a).front()->primitive;
  ProblemRow row{.kind = named.text.kind,
                 .direction = DirectionOf(named.text.prop),
                 .problem = ProblemOf(named),
                 .types = TypesOf(named),
                 .a = SideOf(a),
                 .b = SideOf(b)};
  if (a.empty() || b.empty()) return row;
  if (row.a.lower_quarter_seconds > 0)
    row.ratio_between = {row.b.lower_quarter_seconds / row.a.upper_quarter_seconds,
                         row.b.upper_quarter_seconds / row.a.lower_quarter_seconds};
  row.differences = DifferencesOf(PrimitivesOf(a), PrimitivesOf(b));
  const auto of_a = NumberOfCalls(row.a), of_b = NumberOfCalls(row.b);
  if (of_a != of_b)
    row.differences.insert(row.differences.begin(), "calls: " + of_a + " | " + of_b);
  return row;
}

using Groups = std::map<std::string, std::vector<Candidate*>>;

Groups GroupsOf(Candidates& candidates, Agreement agreement) {
  Groups groups;
  for (auto& one : candidates)
    if (!one.matched) groups[ProblemKey(one.primitive, agreement)].push_back(&one);
  return groups;
}

void Match(Candidates& a, Candidates& b, Agreement agreement, ProgramPair& pair) {
  auto of_a = GroupsOf(a, agreement), of_b = GroupsOf(b, agreement);
  for (auto& [key, group] : of_a) {
    const auto partner = of_b.find(key);
    if (partner == of_b.end()) continue;
    for (auto* side : {&group, &partner->second})
      for (auto* one : *side) one->matched = true;
    pair.rows.push_back(RowOf(group, partner->second));
    pair.a.matched.Add(pair.rows.back().a.sum);
    pair.b.matched.Add(pair.rows.back().b.sum);
  }
}

std::vector<ProblemRow> Unmatched(Candidates& candidates, bool of_a) {
  std::vector<ProblemRow> rows;
  for (auto& [key, group] : GroupsOf(candidates, Agreement::kExact))
    rows.push_back(of_a ? RowOf(group, {}) : RowOf({}, group));
  std::ranges::stable_sort(rows, std::ranges::greater{}, [of_a](const ProblemRow& row) {
    return of_a ? row.a.sum.seconds : row.b.sum.seconds;
  });
  return rows;
}

void AddKinds(const std::vector<PrimitiveUse>& uses, CallSum KindRow::*side,
              std::vector<KindRow>& kinds) {
  for (const auto& use : uses) {
    const auto& text = use.primitive->text;
    const auto direction = DirectionOf(text.prop);
    auto kind = std::ranges::find_if(kinds, [&](const KindRow& one) {
      return one.kind == text.kind && one.direction == direction &&
             one.moves_data == use.primitive->moves_data;
    });
    if (kind == kinds.end())
      kind = kinds.insert(kinds.end(), {text.kind, direction, use.primitive->moves_data, {}, {}});
    ((*kind).*side).Add({use.calls, use.seconds});
  }
}

void AddTotals(const std::vector<PrimitiveUse>& uses, const ProgramSummary& summary,
               SideTotals& totals) {
  for (const auto& use : uses) {
    const auto& primitive = *use.primitive;
    auto& sum = primitive.moves_data     ? totals.moving
                : primitive.work_unknown ? totals.unknown
                                         : totals.computing;
    sum.Add({use.calls, use.seconds});
  }
  const bool steps = summary.steps.count > 0;
  totals.creation_seconds = steps ? summary.steps.creation_seconds : summary.creation_seconds;
  totals.wall_seconds = steps ? summary.steps.wall_seconds : summary.wall_seconds;
  if (totals.wall_seconds)
    totals.outside_seconds =
        std::max(*totals.wall_seconds - totals.computing.seconds - totals.moving.seconds -
                     totals.unknown.seconds - totals.creation_seconds,
                 0.0);
}

std::string ThreadsOf(const std::optional<int>& number) {
  return number ? std::to_string(*number) : "unknown";
}

std::string MachinesOf(const record::RunFile& file) {
  std::string names;
  for (const auto& machine : file.machines)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", machine.name);
  return names.empty() ? "unknown" : names;
}

// Returns sentences on other differences between the programs.
std::vector<std::string> OtherDifferences(const ComparedProgram& a, const ComparedProgram& b) {
  std::vector<std::string> remarks;
  const auto compare = [&](const char* what, const std::string& of_a, const std::string& of_b) {
    if (of_a != of_b) remarks.push_back(fmt::format("{}: {} | {}", what, of_a, of_b));
  };
  compare("oneDNN", a.summary.version, b.summary.version);
  compare("runtime of its threads", a.summary.runtime, b.summary.runtime);
  compare("threads", ThreadsOf(a.summary.threads), ThreadsOf(b.summary.threads));
  compare("instruction set", a.summary.isa_words, b.summary.isa_words);
  compare("machine", MachinesOf(a.run.file), MachinesOf(b.run.file));
  return remarks;
}

bool HasSteps(const ComparedProgram& program) { return program.summary.steps.count > 0; }

// Returns the program's summary, without its steps if `per_step` is false (a program has no steps).
ProgramSummary ComparedSummary(const ComparedProgram& program, bool per_step) {
  ProgramSummary summary = program.summary;
  if (!per_step) summary.steps.count = 0;
  return summary;
}

// Returns the calls of each primitive as counted in `compared`, a copy of the program's summary,
// with pointers to the primitives of the program's own summary, which outlives the copy.
std::vector<PrimitiveUse> UsesIn(const ComparedProgram& program, const ProgramSummary& compared) {
  auto uses = UsesOf(program.run, compared);
  for (auto& use : uses)
    use.primitive =
        &program.summary
             .primitives[static_cast<std::size_t>(use.primitive - compared.primitives.data())];
  return uses;
}

}  // namespace

std::string DirectionOf(std::string_view prop) {
  if (prop.starts_with("forward")) return "forward";
  return prop == "undef" ? "" : std::string(prop);
}

std::string TypesOf(const verbose::Primitive& primitive) {
  std::vector<std::string> types;
  for (const auto& tensor : primitive.tensors)
    if (!IsBias(tensor) && !IsInternal(tensor) && tensor.type != "undef")
      types.push_back(tensor.type);
  if (!types.empty() &&
      std::ranges::all_of(types, [&](const auto& type) { return type == types.front(); }))
    return types.front();
  return fmt::format("{}", fmt::join(types, ":"));
}

std::string ProblemOf(const verbose::Primitive& primitive) {
  const auto& text = primitive.text;
  if (text.problem.starts_with("g1") && text.problem.size() > 2 && !IsDigit(text.problem[2]))
    return text.problem.substr(2);
  if (text.kind == "matmul") {
    const auto second = text.problem.find(':', text.problem.find(':') + 1);
    return text.problem.substr(0, second);
  }
  return text.problem;
}

std::string ProblemKey(const verbose::Primitive& primitive, Agreement agreement) {
  const auto& text = primitive.text;
  const auto problem = ProblemOf(primitive);
  return fmt::format("{}/{}/{}{}/{}", text.kind, DirectionOf(text.prop),
                     agreement == Agreement::kOutputs ? WithoutPadding(problem) : problem,
                     OperationWords(text),
                     agreement == Agreement::kSizes ? "any type" : TypesOf(primitive));
}

std::vector<std::string> DifferencesOf(const std::vector<verbose::Primitive>& a,
                                       const std::vector<verbose::Primitive>& b) {
  std::vector<std::string> differences;
  const auto compare = [&](const std::string& what,
                           const std::function<std::string(const verbose::Primitive&)>& text) {
    const auto of_a = Joined(a, text), of_b = Joined(b, text);
    if (of_a != of_b) differences.push_back(fmt::format("{}: {} | {}", what, of_a, of_b));
  };
  compare("sizes", ProblemOf);
  compare("types", TypesOf);
  // Versions of oneDNN name an implementation differently.
  const auto family = [](const auto& one) { return ImplementationFamily(one.text.implementation); };
  if (Joined(a, family) != Joined(b, family))
    compare("implementation", [](const auto& one) { return OrNone(one.text.implementation); });
  for (const auto& role : RolesOf(a, b))
    compare("layout of " + role, [&](const auto& one) { return TagOf(one, role); });
  compare("bias", BiasOf);
  compare("attributes", AttributesOf);
  compare("prop_kind", [](const auto& one) { return one.text.prop; });
  compare("options", [](const auto& one) { return OrNone(one.text.auxiliary); });
  return differences;
}

ComparedProgram ComparedProgramOf(const std::string& where, roofline::PlacedRun run) {
  auto summary = ProgramOf(run.file.context);
  if (!summary)
    throw BadInput(
        "{}: not the run file of a program, expected context.dlroof.program as written by dlroof "
        "profile and dlroof import LOG",
        where);
  return {where, std::move(run), *std::move(summary)};
}

ProgramPair PairPrograms(const ComparedProgram& a, const ComparedProgram& b) {
  ProgramPair pair{.per_step = HasSteps(a) && HasSteps(b), .remarks = OtherDifferences(a, b)};
  for (const auto* side : {&a, &b})
    if (!pair.per_step && !HasSteps(*side))
      pair.remarks.push_back(
          fmt::format("{} has no steps ({}), so all times are of the whole programs, which can be "
                      "compared only if both do the same work",
                      side->where, side->summary.steps.reason.value_or(Reason{}).text));
  const auto summary_a = ComparedSummary(a, pair.per_step),
             summary_b = ComparedSummary(b, pair.per_step);
  const auto uses_a = UsesIn(a, summary_a), uses_b = UsesIn(b, summary_b);
  AddTotals(uses_a, summary_a, pair.a);
  AddTotals(uses_b, summary_b, pair.b);
  AddKinds(uses_a, &KindRow::a, pair.kinds);
  AddKinds(uses_b, &KindRow::b, pair.kinds);
  std::ranges::stable_sort(pair.kinds, std::ranges::greater{}, [](const KindRow& row) {
    return std::max(row.a.seconds, row.b.seconds);
  });
  auto of_a = CandidatesOf(uses_a), of_b = CandidatesOf(uses_b);
  for (const auto agreement : kAgreements) Match(of_a, of_b, agreement, pair);
  pair.only_a = Unmatched(of_a, true);
  pair.only_b = Unmatched(of_b, false);
  std::ranges::stable_sort(pair.rows, std::ranges::greater{}, [](const ProblemRow& row) {
    return std::abs(row.a.sum.seconds - row.b.sum.seconds);
  });
  return pair;
}

std::optional<double> RatioOf(const CallSum& a, const CallSum& b) {
  if (!(a.seconds > 0)) return std::nullopt;
  return b.seconds / a.seconds;
}

}  // namespace dlroof::programs
