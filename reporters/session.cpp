#include "reporters/session.h"

#include <algorithm>

namespace dlroof {

void Session::Begin() {
  if (begun_) return;
  begun_ = true;
  file_.machines = measure_();
  file_.context["dlroof"] = dlroof_context_;
}

const Record& Session::Add(Record record) {
  const auto [found, added] = index_of_.try_emplace(record.name, file_.records.size());
  if (added)
    file_.records.push_back(std::move(record));
  else
    file_.records[found->second] = std::move(record);
  return file_.records[found->second];
}

bool Session::AnyFailed() const {
  return std::any_of(file_.records.begin(), file_.records.end(), [](const Record& record) {
    return record.status == Status::kFailed || record.status == Status::kWrong;
  });
}

}  // namespace dlroof
