// swift-tools-version:6.2

import PackageDescription

/// Set by our own scripts. In an app's build, a warning of a newer compiler must not be an error; and Swift Build passes
/// `-suppress-warnings` for dependencies, which the compiler does not accept together with `-warnings-as-errors`.
let warningsAreErrors = Context.environment["SYNCSERVER_WARNINGS_ARE_ERRORS"] == "1"

/// Settings of every target: the compiler reports all detectable mistakes.
let strict: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .strictMemorySafety(),
    ] + (warningsAreErrors ? [.treatAllWarnings(as: .error)] : [])

let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

/// A module that is used on the given platforms only.
func on(_ platforms: [Platform], _ name: String) -> Target.Dependency {
    .byName(name: name, condition: .when(platforms: platforms))
}

/// A C library of the system, with the module map in `Sources/System`.
func library(_ name: String, pkgConfig: String? = nil, apt package: String? = nil) -> Target {
    .systemLibrary(
        name: name, path: "Sources/System/\(name)", pkgConfig: pkgConfig, providers: package.map { [.apt([$0])] })
}

/// A module in one of the folders below `Sources`.
func module(
    _ room: String, _ name: String, _ dependencies: [Target.Dependency] = [], resources: [Resource]? = nil
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Sources/\(room)/\(name)", resources: resources,
        swiftSettings: strict)
}

/// A program.
func program(_ room: String, _ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: "Sources/\(room)/\(name)", swiftSettings: strict)
}

/// Tests, in a folder below `Tests`.
func tests(_ room: String, _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, path: "Tests/\(room)/\(name)", exclude: exclude,
        swiftSettings: strict)
}

// The map of modules, from the bottom up: each imports only the modules listed here, which are all defined above it.
let package = Package(
    name: "syncserver",
    // For the client library; the server runs on Linux.
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .executable(name: "syncd", targets: ["syncd"]),
        .executable(name: "syncctl", targets: ["syncctl"]),
        .executable(name: "syncsandbox", targets: ["syncsandbox"]),
        .executable(name: "syncdir", targets: ["syncdir"]),
        .executable(name: "album", targets: ["album"]),
        .library(name: "SyncProtocol", targets: ["SyncProtocol"]),
        .library(name: "SyncAccounts", targets: ["SyncAccounts"]),
        .library(name: "SyncServerConnection", targets: ["SyncServerConnection"]),
        .library(name: "SyncClient", targets: ["SyncClient"]),
        .library(name: "SyncClientTesting", targets: ["SyncClientTesting"]),
        .library(name: "SyncErrorSentences", targets: ["SyncErrorSentences"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        // System: the C libraries, and one safe wrapper each. No C type appears above this line.
        library("CPosix"),
        library("CFastCGI", pkgConfig: "fcgi", apt: "libfcgi-dev"),
        library("CMariaDB", pkgConfig: "libmariadb", apt: "libmariadb-dev"),
        library("CCurl", pkgConfig: "libcurl", apt: "libcurl4-openssl-dev"),
        library("COpenSSL", pkgConfig: "libcrypto", apt: "libssl-dev"),
        library("CZlib", pkgConfig: "zlib", apt: "zlib1g-dev"),
        library("CIsal", pkgConfig: "libisal", apt: "libisal-dev"),
        library("CExpat", pkgConfig: "expat", apt: "libexpat1-dev"),
        module("System", "Posix", ["CPosix"]),
        module("System", "FastCGI", ["CFastCGI"]),
        module("System", "MariaDB", ["CMariaDB"]),
        module("System", "Curl", ["CCurl", "Posix"]),
        module("System", "OpenSSLCrypto", ["COpenSSL"]),
        module("System", "Gzip", ["CIsal", "CZlib"]),
        module("System", "Expat", ["CExpat"]),

        // Protocol: the messages between servers and clients.
        module("Protocol", "SyncProtocol"),
        module("Protocol", "StorageHashes", [on([.linux, .android], "OpenSSLCrypto")]),

        // Server: outgoing requests, metadata, providers, credentials, and the endpoints for phones.
        module("Server", "UntrustedInput"),
        module("Server", "HTTPTransport", ["Curl", "SyncProtocol", "UntrustedInput", httpTypes, logging]),
        module("Server", "JSONWebTokens", ["OpenSSLCrypto", "UntrustedInput"]),
        module(
            "Server", "Store",
            ["MariaDB", "OpenSSLCrypto", "Posix", "SyncProtocol"], resources: [.embedInCode("Migrations")]),
        module(
            "Server", "Providers",
            [
                "Expat", "OpenSSLCrypto", "StorageHashes", "SyncProtocol", "HTTPTransport", "JSONWebTokens",
                "UntrustedInput", httpTypes,
            ]),
        module(
            "Server", "Vault", ["OpenSSLCrypto", "SyncProtocol", "HTTPTransport", "Providers", "Store", logging]),
        module(
            "Server", "SyncService",
            [
                "Gzip", "OpenSSLCrypto", "Posix", "SyncProtocol", "HTTPTransport", "Providers", "Store",
                "UntrustedInput", "Vault", logging,
            ]),
        module("Server", "Metrics", ["Posix", "SyncProtocol", "HTTPTransport", "Providers"]),
        module(
            "Server", "Configuration",
            [
                "Curl", "MariaDB", "OpenSSLCrypto", "Posix", "SyncProtocol", "HTTPTransport", "Providers", "Store",
                "Vault",
            ]),
        module(
            "Server", "Operations",
            [
                "Gzip", "MariaDB", "OpenSSLCrypto", "Posix", "SyncProtocol", "HTTPTransport", "Providers", "Store",
                "UntrustedInput", "Vault", httpTypes, logging,
            ]),

        // Client: the library for apps, whose only C libraries are SQLite and, on Linux, libcurl and libcrypto.
        module(
            "Client", "SyncServerConnection",
            ["StorageHashes", "SyncProtocol", httpTypes, logging, on([.linux], "Curl")]),
        module("Client", "SyncAccounts", ["StorageHashes", "SyncProtocol", "SyncServerConnection", httpTypes]),
        module("Client", "SyncEngine", ["SyncProtocol"]),
        module("Client", "SyncStore", ["SyncProtocol", "SyncEngine", grdb]),
        module("Client", "SyncClient", ["SyncProtocol", "SyncEngine", "SyncServerConnection", "SyncStore", logging]),
        module("Client", "SyncClientTesting", ["SyncProtocol", "SyncClient", "SyncEngine", "SyncStore"]),
        module("Client", "SyncErrorSentences", ["SyncAccounts", "SyncClient"]),
        module("Client", "SyncDirectory", ["StorageHashes", "SyncProtocol", grdb, on([.linux], "Gzip")]),

        // Sandbox: emulated providers for development and tests, never linked into the server.
        module("Sandbox", "Sandbox", ["Expat", "OpenSSLCrypto", "Posix", "StorageHashes"]),

        // Programs.
        program(
            "Programs", "syncd",
            [
                "Curl", "FastCGI", "MariaDB", "OpenSSLCrypto", "Posix", "SyncProtocol", "Configuration",
                "HTTPTransport", "Metrics", "Providers", "Store", "SyncService", "Vault", logging, argumentParser,
            ]),
        program(
            "Programs", "syncctl",
            [
                "Curl", "Gzip", "MariaDB", "OpenSSLCrypto", "Posix", "SyncProtocol", "Configuration", "HTTPTransport",
                "Operations", "Providers", "Store", "Vault", logging, argumentParser,
            ]),
        program("Programs", "syncsandbox", ["Curl", "FastCGI", "Posix", "SyncProtocol", "Sandbox", argumentParser]),
        program(
            "Programs", "syncdir",
            ["SyncAccounts", "SyncClient", "SyncDirectory", "SyncErrorSentences", argumentParser]),
        program("Programs", "simulate", ["SyncClientTesting", argumentParser]),
        .executableTarget(
            name: "album", dependencies: ["SyncAccounts", "SyncClient", "SyncErrorSentences", argumentParser],
            path: "Examples/album", exclude: ["README.md", "play", "pictures"], swiftSettings: strict),

        // Tests of one module, or a part of one.
        tests("System", "PosixTests", ["Posix", "TestSupport"]),
        tests("System", "FastCGITests", ["FastCGI", "Posix"]),
        tests("System", "MariaDBTests", ["MariaDB", "TestSupport"]),
        tests("System", "CurlTests", ["Curl", "Posix", "TestSupport"]),
        tests("System", "OpenSSLCryptoTests", ["OpenSSLCrypto", "Posix", "TestSupport"]),
        tests("System", "ExpatTests", ["Expat"]),
        tests("System", "GzipTests", ["Gzip", "TestSupport"]),
        tests("Protocol", "SyncProtocolTests", ["Gzip", "OpenSSLCrypto", "SyncProtocol"]),
        tests("Protocol", "StorageHashesTests", ["OpenSSLCrypto", "StorageHashes", "TestSupport"]),
        tests("Server", "UntrustedInputTests", ["UntrustedInput"]),
        tests("Server", "HTTPTransportTests", ["Curl", "Posix", "HTTPTransport", "TestSupport", httpTypes]),
        tests(
            "Server", "JSONWebTokensTests", ["OpenSSLCrypto", "JSONWebTokens", "TestSupport"],
            exclude: ["pyjwt_judge.py"]),
        tests("Server", "StoreTests", ["MariaDB", "SyncProtocol", "Store", "TestSupport"]),
        tests(
            "Server/Providers", "SignInTests",
            [
                "OpenSSLCrypto", "Posix", "SyncProtocol", "HTTPTransport", "JSONWebTokens", "Providers", "TestSupport",
                httpTypes,
            ]),
        tests(
            "Server/Providers", "CloudStorageTests",
            ["Curl", "SyncProtocol", "HTTPTransport", "Providers", "Vault", "TestSupport", httpTypes]),
        tests(
            "Server/Providers", "PushTests",
            ["OpenSSLCrypto", "SyncProtocol", "HTTPTransport", "JSONWebTokens", "Providers", "TestSupport", httpTypes]),
        tests("Server", "VaultTests", ["OpenSSLCrypto", "SyncProtocol", "Providers", "Vault"]),
        tests(
            "Server", "SyncServiceTests",
            [
                "Gzip", "MariaDB", "OpenSSLCrypto", "Posix", "SyncProtocol", "HTTPTransport", "JSONWebTokens",
                "Providers",
                "Store", "SyncService", "Vault", "TestSupport", httpTypes, logging,
            ]),
        tests("Server", "MetricsTests", ["Posix", "SyncProtocol", "HTTPTransport", "Metrics", "Providers"]),
        tests(
            "Server", "ConfigurationTests",
            ["MariaDB", "SyncProtocol", "Configuration", "Providers", "TestSupport"], exclude: ["Fixtures"]),
        tests(
            "Server/Operations", "AdministrationTests",
            [
                "MariaDB", "OpenSSLCrypto", "Posix", "SyncProtocol", "HTTPTransport", "Operations", "Providers",
                "Store",
                "Vault", "TestSupport", "syncctl", httpTypes,
            ]),
        tests(
            "Server/Operations", "SetupTests",
            ["MariaDB", "OpenSSLCrypto", "Operations", "Providers", "Store", "TestSupport", "syncctl"]),
        tests(
            "Server/Operations", "ImportTests",
            [
                "MariaDB", "OpenSSLCrypto", "Posix", "SyncProtocol", "Configuration", "Operations", "Providers",
                "Store", "Vault", "TestSupport", "syncctl",
            ], exclude: ["Fixtures"]),
        tests("Server/Operations", "OpenAPITests", ["SyncProtocol", "Operations"]),
        tests(
            "Server/Operations", "ReportTests",
            ["OpenSSLCrypto", "Posix", "SyncProtocol", "Operations", "TestSupport", "syncctl", argumentParser]),
        tests(
            "Server/Operations", "TrialTests",
            [
                "Curl", "Posix", "SyncProtocol", "HTTPTransport", "Operations", "Providers", "TestSupport", "syncctl",
                httpTypes,
            ]),
        tests("Client", "SyncServerConnectionTests", ["SyncProtocol", "SyncServerConnection", httpTypes, logging]),
        tests(
            "Client", "SyncServerConnectionStackTests",
            ["Posix", "SyncProtocol", "SyncAccounts", "SyncServerConnection", "TestSupport", httpTypes]),
        tests("Client", "SyncAccountsTests", ["SyncProtocol", "SyncAccounts", "SyncServerConnection"]),
        tests("Client", "SyncEngineTests", ["SyncProtocol", "SyncEngine"]),
        tests("Client", "SyncStoreTests", ["SyncProtocol", "SyncEngine", "SyncStore", grdb]),
        tests("Client", "SyncClientTests", ["SyncClient", "SyncEngine", grdb, httpTypes]),
        tests(
            "Client", "SyncClientStackTests",
            [
                "SyncProtocol", "SyncClient", "SyncClientTesting", "SyncEngine", "SyncServerConnection", "TestSupport",
                httpTypes,
            ]),
        tests(
            "Client", "SyncClientTestingTests",
            ["SyncProtocol", "SyncClient", "SyncClientTesting", "SyncEngine", logging]),
        tests(
            "Client", "SyncErrorSentencesTests", ["SyncAccounts", "SyncClient", "SyncErrorSentences"]),
        tests("Client", "SyncDirectoryTests", ["Gzip", "OpenSSLCrypto", "SyncProtocol", "SyncDirectory"]),
        tests("Sandbox", "SandboxTests", ["OpenSSLCrypto", "Posix", "Sandbox", "StorageHashes"]),
        tests(
            "Programs", "SyncdTests", ["MariaDB", "Posix", "SyncProtocol", "Store", "syncd", "TestSupport", logging]),
        tests(
            "Programs", "SyncdirStackTests",
            ["Posix", "SyncClient", "SyncDirectory", "syncdir", "TestSupport"], exclude: ["person.py"]),
        tests("Programs", "AlbumStackTests", ["album", "Posix", "TestSupport"], exclude: ["terminal.py"]),

        // Tests of the whole system, and shared test code.
        .target(
            name: "TestSupport",
            dependencies: ["MariaDB", "OpenSSLCrypto", "Posix", "StorageHashes", "HTTPTransport", httpTypes],
            path: "Tests/TestSupport", swiftSettings: strict),
        .target(name: "SyncModel", path: "Tests/SyncModel", swiftSettings: strict),
        .testTarget(name: "SyncModelTests", dependencies: ["SyncModel"], swiftSettings: strict),
        .testTarget(
            name: "AcceptanceTests",
            dependencies: [
                "Curl", "MariaDB", "OpenSSLCrypto", "Posix", "SyncProtocol", "SyncAccounts", "TestSupport", "SyncModel",
            ],
            swiftSettings: strict),
    ]
)

// The wrappers of C libraries, their tests and dependencies only: scripts/sanitize builds these again with the address
// sanitizer, in a fraction of the time that a full build would take.
if Context.environment["SYNCSERVER_WRAPPERS_ONLY"] == "1" {
    let wrappers = ["Posix", "FastCGI", "MariaDB", "Curl", "OpenSSLCrypto", "Expat", "Gzip"]
    let kept = Set(
        wrappers + wrappers.flatMap { ["C\($0)", "\($0)Tests"] }
            + [
                "COpenSSL", "CIsal", "CZlib", "StorageHashes", "SyncProtocol", "UntrustedInput", "HTTPTransport",
                "TestSupport",
            ])
    package.products = []
    package.targets.removeAll { !kept.contains($0.name) }
}
