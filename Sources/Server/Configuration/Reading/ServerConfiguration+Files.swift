extension ServerConfiguration {
    /// The files that services read when they start: the configuration at `path`, and the secrets that it names, where
    /// systemd finds them.
    public func filesReadAtStart(from path: String) -> [String] {
        let folder = SecretFiles.folder(of: path) + "/secrets/"
        return [path] + secretFiles.map { $0.name.hasPrefix("/") ? $0.name : folder + $0.name }
    }
}
