# Every third-party library the program links, all from Debian packages.
# docs/third-party.md lists versions, licences and the reason for each.
find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(Boost 1.81 REQUIRED)                 # headers: Beast, Asio
find_package(nlohmann_json 3.11 REQUIRED)
find_package(spdlog 1.10 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(tl-expected REQUIRED)
find_package(yaml-cpp 0.7 REQUIRED)
find_package(prometheus-cpp REQUIRED CONFIG)  # 1.0.1; Debian ships no version file
if(O3_BUILD_TESTS)
  find_package(GTest 1.12 REQUIRED)
endif()
