// swift-tools-version:6.2

import PackageDescription

/// Settings of every target: mistakes the compiler can find are errors.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let jwtKit = Target.Dependency.product(name: "JWTKit", package: "jwt-kit")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

// The module map: each target imports only what stands above it.
let package = Package(
    name: "syncserver",
    // Of the client library; the server runs on Linux.
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
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        // C libraries of the system.
        .systemLibrary(name: "CPosix"),
        .systemLibrary(name: "CFastCGI", pkgConfig: "fcgi", providers: [.apt(["libfcgi-dev"])]),
        .systemLibrary(name: "CMariaDB", pkgConfig: "libmariadb", providers: [.apt(["libmariadb-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

        // One safe wrapper each: values in and out, no C type above this line.
        .target(name: "Posix", dependencies: ["CPosix"], swiftSettings: strict),
        .target(name: "FastCGI", dependencies: ["CFastCGI"], swiftSettings: strict),
        .target(name: "MariaDB", dependencies: ["CMariaDB"], swiftSettings: strict),
        .target(name: "Curl", dependencies: ["CCurl"], swiftSettings: strict),
        .target(name: "OpenSSLCrypto", dependencies: ["COpenSSL"], swiftSettings: strict),
        .target(name: "Gzip", dependencies: ["CZlib"], swiftSettings: strict),

        // Signed tokens: one safe wrapper of a Swift library.
        .target(
            name: "JSONWebTokens", dependencies: ["OpenSSLCrypto", "UntrustedInput"], swiftSettings: strict),

        // The domain.
        .target(name: "SyncProtocol", swiftSettings: strict),
        .target(name: "UntrustedInput", swiftSettings: strict),
        .target(name: "HTTPTransport", dependencies: [httpTypes], swiftSettings: strict),
        .target(name: "CurlTransport", dependencies: ["Curl", "HTTPTransport", httpTypes], swiftSettings: strict),
        .target(
            name: "Store", dependencies: ["MariaDB", "OpenSSLCrypto", "Posix", "SyncProtocol"],
            resources: [.embedInCode("Migrations")],
            swiftSettings: strict),
        .target(
            name: "CloudStorage",
            dependencies: ["HTTPTransport", "SyncProtocol", "OpenSSLCrypto", "UntrustedInput", httpTypes],
            swiftSettings: strict),
        .target(
            name: "Accounts",
            dependencies: [
                "HTTPTransport", "JSONWebTokens", "OpenSSLCrypto", "SyncProtocol", "UntrustedInput", httpTypes,
            ],
            swiftSettings: strict),
        .target(
            name: "Push",
            dependencies: [
                "HTTPTransport", "JSONWebTokens", "OpenSSLCrypto", "SyncProtocol", "UntrustedInput", httpTypes,
            ],
            swiftSettings: strict),
        .target(
            name: "Metrics", dependencies: ["HTTPTransport", "Posix", "SyncProtocol", httpTypes],
            swiftSettings: strict),
        .target(
            name: "UserStorage",
            dependencies: [
                "Store", "CloudStorage", "Accounts", "HTTPTransport", "SyncProtocol", "OpenSSLCrypto", httpTypes,
                logging,
            ],
            swiftSettings: strict),
        .target(
            name: "Endpoints",
            dependencies: [
                "UserStorage", "Store", "CloudStorage", "Accounts", "Push", "HTTPTransport", "SyncProtocol",
                "OpenSSLCrypto", "UntrustedInput", logging,
            ],
            swiftSettings: strict),
        .target(
            name: "Jobs",
            dependencies: [
                "UserStorage", "Store", "CloudStorage", "Accounts", "Push", "HTTPTransport", "SyncProtocol", logging,
            ],
            swiftSettings: strict),
        .target(name: "APIDescription", dependencies: ["SyncProtocol"], swiftSettings: strict),
        .target(
            name: "Import", dependencies: ["Store", "MariaDB", "Accounts", "OpenSSLCrypto", "SyncProtocol"],
            swiftSettings: strict),

        .target(
            name: "Administration",
            dependencies: [
                "Store", "MariaDB", "Accounts", "CloudStorage", "UserStorage", "HTTPTransport", "OpenSSLCrypto",
                "SyncProtocol", "Posix", "Gzip", logging,
            ],
            swiftSettings: strict),

        // Composition roots.
        .target(
            name: "ServerConfiguration", dependencies: ["JSONWebTokens", "MariaDB", "Posix", "Push", "SyncProtocol"],
            swiftSettings: strict),
        .target(
            name: "ServerAssembly",
            dependencies: [
                "ServerConfiguration", "Store", "SyncProtocol", "Accounts", "CloudStorage", "UserStorage",
                "HTTPTransport", "Curl",
                "OpenSSLCrypto",
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "syncd",
            dependencies: [
                "Endpoints", "Jobs", "UserStorage", "Store", "CloudStorage", "Accounts", "Push",
                "FastCGI", "Curl", "CurlTransport", "MariaDB", "Metrics",
                "HTTPTransport", "OpenSSLCrypto", "SyncProtocol", "Posix", "ServerConfiguration", "ServerAssembly",
                logging,
                argumentParser,
            ],
            swiftSettings: strict),
        // What `syncctl setup` decides.
        .target(name: "HostSetup", swiftSettings: strict),
        .executableTarget(
            name: "syncctl",
            dependencies: [
                "Administration", "APIDescription", "HostSetup", "Import", "Store", "MariaDB", "Accounts",
                "OpenSSLCrypto", "SyncProtocol", "Posix", "Curl", "CurlTransport", "HTTPTransport", "UserStorage",
                "ServerConfiguration", "ServerAssembly", "Gzip", logging, argumentParser,
            ],
            swiftSettings: strict),

        // Emulated providers for development and tests.
        .target(name: "Sandbox", dependencies: ["OpenSSLCrypto", "Posix"], swiftSettings: strict),
        .executableTarget(
            name: "syncsandbox", dependencies: ["Sandbox", "SyncProtocol", "FastCGI", "Posix", argumentParser],
            swiftSettings: strict),

        // The client library: nothing of the server, no C library but SQLite.
        .target(
            name: "SyncAccounts", dependencies: ["SyncServerConnection", "SyncProtocol", crypto],
            path: "Sources/Client/SyncAccounts",
            swiftSettings: strict),
        .target(
            name: "SyncServerConnection", dependencies: ["SyncProtocol", crypto, httpTypes, logging],
            path: "Sources/Client/SyncServerConnection", swiftSettings: strict),
        .testTarget(
            name: "SyncServerConnectionTests",
            dependencies: ["SyncServerConnection", "SyncProtocol", httpTypes, logging],
            path: "Tests/Client/SyncServerConnectionTests", swiftSettings: strict),
        .testTarget(
            name: "SyncServerConnectionStackTests",
            dependencies: ["SyncServerConnection", "SyncProtocol", "TestSupport", httpTypes],
            path: "Tests/Client/SyncServerConnectionStackTests", swiftSettings: strict),
        .target(
            name: "SyncEngine", dependencies: ["SyncProtocol"], path: "Sources/Client/SyncEngine",
            swiftSettings: strict),
        .target(
            name: "SyncStore", dependencies: ["SyncEngine", "SyncProtocol", grdb], path: "Sources/Client/SyncStore",
            swiftSettings: strict),
        .target(
            name: "SyncClient",
            dependencies: ["SyncEngine", "SyncStore", "SyncServerConnection", "SyncProtocol", logging],
            path: "Sources/Client/SyncClient", swiftSettings: strict),
        .testTarget(
            name: "SyncClientTests", dependencies: ["SyncClient", "SyncEngine", grdb],
            path: "Tests/Client/SyncClientTests", swiftSettings: strict),
        .testTarget(
            name: "SyncClientStackTests",
            dependencies: ["SyncClient", "SyncClientTesting", "SyncEngine", "TestSupport", httpTypes],
            path: "Tests/Client/SyncClientStackTests", swiftSettings: strict),
        .target(
            name: "SyncClientTesting", dependencies: ["SyncClient", "SyncEngine", "SyncStore", "SyncProtocol"],
            path: "Sources/Client/SyncClientTesting", swiftSettings: strict),
        .target(
            name: "SyncDirectory", dependencies: ["SyncProtocol", crypto, grdb], path: "Sources/Client/SyncDirectory",
            swiftSettings: strict),
        .executableTarget(
            name: "syncdir", dependencies: ["SyncAccounts", "SyncClient", "SyncDirectory", argumentParser],
            path: "Sources/Client/syncdir", swiftSettings: strict),
        .executableTarget(
            name: "album", dependencies: ["SyncAccounts", "SyncClient", argumentParser], path: "Examples/album",
            exclude: ["README.md", "play", "pictures"], swiftSettings: strict),
        .executableTarget(
            name: "simulate", dependencies: ["SyncClientTesting", argumentParser], path: "Sources/Client/simulate",
            swiftSettings: strict),

        // Tests.
        .target(
            name: "TestSupport",
            dependencies: ["HTTPTransport", "OpenSSLCrypto", "MariaDB", "Posix", httpTypes],
            path: "Tests/TestSupport", swiftSettings: strict),
        .testTarget(name: "PosixTests", dependencies: ["Posix", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "FastCGITests", dependencies: ["FastCGI", "Posix"], swiftSettings: strict),
        .testTarget(name: "MariaDBTests", dependencies: ["MariaDB", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "CurlTests", dependencies: ["Curl", "Posix", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "OpenSSLCryptoTests", dependencies: ["OpenSSLCrypto", "Posix", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "JSONWebTokensTests", dependencies: ["JSONWebTokens", "OpenSSLCrypto", jwtKit], swiftSettings: strict),
        .testTarget(
            name: "SyncEngineTests", dependencies: ["SyncEngine", "SyncProtocol"], path: "Tests/Client/SyncEngineTests",
            swiftSettings: strict),
        .testTarget(
            name: "SyncStoreTests", dependencies: ["SyncStore", "SyncEngine", "SyncProtocol", grdb],
            path: "Tests/Client/SyncStoreTests", swiftSettings: strict),
        .testTarget(
            name: "SyncClientTestingTests",
            dependencies: ["SyncClient", "SyncClientTesting", "SyncEngine", "SyncProtocol", logging],
            path: "Tests/Client/SyncClientTestingTests", swiftSettings: strict),
        .testTarget(
            name: "SyncDirectoryTests", dependencies: ["SyncDirectory", "SyncProtocol"],
            path: "Tests/Client/SyncDirectoryTests", swiftSettings: strict),
        .testTarget(
            name: "SyncdirStackTests",
            dependencies: ["SyncClient", "SyncDirectory", "syncdir", "Posix", "TestSupport"],
            path: "Tests/Client/SyncdirStackTests", exclude: ["person.py"], swiftSettings: strict),
        .testTarget(
            name: "AlbumStackTests", dependencies: ["album", "TestSupport"], path: "Tests/Client/AlbumStackTests",
            exclude: ["terminal.py"], swiftSettings: strict),
        .testTarget(name: "SyncProtocolTests", dependencies: ["SyncProtocol"], swiftSettings: strict),
        .testTarget(
            name: "StoreTests", dependencies: ["Store", "MariaDB", "SyncProtocol", "TestSupport"], swiftSettings: strict
        ),
        .testTarget(
            name: "APIDescriptionTests", dependencies: ["APIDescription", "SyncProtocol"], swiftSettings: strict),
        .testTarget(
            name: "ImportTests",
            dependencies: [
                "Import", "syncctl", "Store", "MariaDB", "Accounts", "OpenSSLCrypto", "ServerConfiguration",
                "SyncProtocol", "Posix", "TestSupport",
            ],
            exclude: ["Fixtures"], swiftSettings: strict),
        .testTarget(
            name: "AdministrationTests",
            dependencies: [
                "Administration", "Accounts", "MariaDB", "OpenSSLCrypto", "Store", "SyncProtocol", "TestSupport",
                "syncctl",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "EndpointsTests",
            dependencies: [
                "Endpoints", "Jobs", "Store", "CloudStorage", "Accounts", "Push", "SyncProtocol", "UserStorage",
                "HTTPTransport", "JSONWebTokens",
                "OpenSSLCrypto", "MariaDB", "Posix", "TestSupport", httpTypes, logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "CloudStorageTests",
            dependencies: [
                "CloudStorage", "Accounts", "Curl", "CurlTransport", "HTTPTransport", "SyncProtocol", "TestSupport",
                "UserStorage", httpTypes,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "PushTests",
            dependencies: [
                "Push", "HTTPTransport", "JSONWebTokens", "OpenSSLCrypto", "SyncProtocol", "TestSupport", httpTypes,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "AccountsTests",
            dependencies: [
                "Accounts", "HTTPTransport", "JSONWebTokens", "OpenSSLCrypto", "Posix", "SyncProtocol", "TestSupport",
                httpTypes,
            ],
            swiftSettings: strict),
        .testTarget(name: "UntrustedInputTests", dependencies: ["UntrustedInput"], swiftSettings: strict),
        .testTarget(
            name: "HTTPTransportTests", dependencies: ["HTTPTransport", "Posix", "TestSupport", httpTypes],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ServerConfigurationTests",
            dependencies: ["ServerConfiguration", "MariaDB", "SyncProtocol", "TestSupport"],
            exclude: ["Fixtures"], swiftSettings: strict),
        .testTarget(
            name: "HostSetupTests",
            dependencies: ["HostSetup", "MariaDB", "OpenSSLCrypto", "TestSupport", "syncctl"],
            swiftSettings: strict),
        .testTarget(
            name: "MetricsTests",
            dependencies: ["Metrics", "HTTPTransport", "Posix", "SyncProtocol", "TestSupport", httpTypes],
            swiftSettings: strict),
        .testTarget(name: "SandboxTests", dependencies: ["Sandbox", "OpenSSLCrypto", "Posix"], swiftSettings: strict),
        .testTarget(
            name: "SyncdTests",
            dependencies: ["syncd", "MariaDB", "Posix", "Store", "SyncProtocol", "TestSupport", logging],
            swiftSettings: strict),
        .testTarget(
            name: "SyncAccountsTests", dependencies: ["SyncAccounts", "SyncServerConnection", "SyncProtocol"],
            path: "Tests/Client/SyncAccountsTests", swiftSettings: strict),
        .target(name: "SyncModel", path: "Tests/SyncModel", swiftSettings: strict),
        .testTarget(name: "SyncModelTests", dependencies: ["SyncModel"], swiftSettings: strict),
        .testTarget(
            name: "AcceptanceTests",
            dependencies: [
                "TestSupport", "SyncModel", "OpenSSLCrypto", "Curl", "Posix", "SyncAccounts", "SyncProtocol",
            ],
            swiftSettings: strict),
    ]
)

// The wrappers of C libraries with their tests and what these need, and nothing else: what scripts/sanitize builds once
// more, under the address sanitizer, in a fraction of the time that all would take.
if Context.environment["SYNCSERVER_WRAPPERS_ONLY"] == "1" {
    let wrappers = ["Posix", "FastCGI", "MariaDB", "Curl", "OpenSSLCrypto"]
    let kept = Set(
        wrappers + wrappers.flatMap { ["C\($0)", "\($0)Tests"] } + ["COpenSSL", "HTTPTransport", "TestSupport"])
    package.products = []
    package.targets.removeAll { !kept.contains($0.name) }
}
