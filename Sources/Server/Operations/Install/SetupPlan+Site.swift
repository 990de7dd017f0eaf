/// The part of the plan about nginx and the certificate.
extension SetupPlan {
    /// The minimum number of connections of an nginx process for a server on the open Internet; Debian's default is
    /// 768.
    public static let leastConnections = 4_096

    /// - Returns: the future site.
    mutating func planSite(
        _ answers: SetupAnswers, _ host: HostState
    ) throws(SiteText.UnknownTemplate) -> SitePresence {
        planOwnAuthority(answers, host)
        let wanted = SiteText.adapted(try wantedSite(answers, host), to: host.http2Form)
        var site = SitePresence(wanted)
        if host.site == nil {
            actions.append(.write(path: SetupPaths.site, text: wanted))
        } else if host.site == wanted {
            kept.append("\(SetupPaths.site) exists")
        } else if let present = host.site, !SiteText.isUnchanged(present, template: host.siteTemplate) {
            site = SitePresence(present)
            leaveAlone(site, answers, host)
        } else {
            actions.append(.write(path: SetupPaths.site, text: wanted))
        }
        if !host.isSiteEnabled { actions.append(.enableSite) }
        if answers.sandbox != nil, !host.isSandboxSiteEnabled {
            if host.hasSandboxSite {
                actions.append(.enableSandboxSite)
            } else {
                remaining.append("Install the sandbox (apt install syncsandbox), and run this setup again.")
            }
        }
        if answers.passesSignals {
            if host.passesSignals {
                kept.append("nginx publishes signals about changes")
            } else {
                actions += SetupPaths.signals.map { .write(path: $0.path, text: $0.text) }
            }
        }
        planConnections(answers, host)
        actions += [.check(.nginx), .reloadNginx]
        let over = host.trials.filter { site.certificate != .ownAuthority || site.host != $0 }
        if !over.isEmpty { actions.append(.forgetTrials(over)) }
        return site
    }

    private mutating func planConnections(_ answers: SetupAnswers, _ host: HostState) {
        guard let connections = host.nginxConnections, connections < Self.leastConnections else { return }
        let changed = Self.raisingConnections(in: host.nginxConfiguration)
        if answers.raisesNginxConnections, let changed {
            actions.append(.raiseNginxConnections(text: changed))
            return
        }
        let least = Self.leastConnections
        remaining.append(
            "Each of nginx's processes accepts only \(connections) connections: one client that opens that many locks "
                + "out all others. Before people use this server: "
                + (changed != nil
                    ? "syncctl setup --nginx-connections"
                    : "worker_connections \(least); and worker_rlimit_nofile \(2 * least); in nginx's configuration"))
    }

    /// `nginx.conf` with ``leastConnections``, and twice as many open files; `nil` if it does not set the former.
    static func raisingConnections(in text: String) -> String? {
        var isRaised = false
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line -> Substring in
            guard let name = line.firstRange(of: "worker_connections "), !line[..<name.lowerBound].contains("#"),
                let end = line[name.upperBound...].firstIndex(of: ";")
            else { return line }
            isRaised = true
            return Substring("\(line[..<name.upperBound])\(leastConnections)\(line[end...])")
        }
        guard isRaised else { return nil }
        let hasLimit = lines.contains { $0.split(separator: " ").first == "worker_rlimit_nofile" }
        if !hasLimit { lines.insert("worker_rlimit_nofile \(2 * leastConnections);", at: 0) }
        return lines.joined(separator: "\n")
    }

    private mutating func planOwnAuthority(_ answers: SetupAnswers, _ host: HostState) {
        guard answers.certificate == .ownAuthority else { return }
        if host.hasCertificate {
            kept.append("the certificate from this host's own authority exists")
        } else {
            actions.append(.issueCertificate)
        }
        if answers.trustsOwnAuthority {
            if !host.hasCertificate || !host.trustsOwnAuthority { actions.append(.trustAuthority) }
            if !host.knowsName { actions.append(.makeNameKnown) }
        }
        remaining.append(
            "This certificate is for a trial: phones reject it until they trust the authority, as `syncctl authority "
                + "show` explains. For real users: a DNS name, and syncctl setup --certbot.")
    }

    private func wantedSite(
        _ answers: SetupAnswers, _ host: HostState
    ) throws(SiteText.UnknownTemplate) -> String {
        if host.hasCertificate || answers.certificate == .ownAuthority {
            return try SiteText.complete(
                host.siteTemplate, host: answers.host, certificate: answers.certificate,
                staples: host.certificateNamesResponder, balancers: answers.balancers ?? [])
        }
        // Until the new host has its certificate, nginx serves the former site.
        if let present = host.site, SitePresence(present).certificate != nil {
            return SiteText.adding(challengeFor: answers.host, to: present)
        }
        return SiteText.untilThereIsACertificate(host: answers.host)
    }

    private mutating func leaveAlone(_ site: SitePresence, _ answers: SetupAnswers, _ host: HostState) {
        kept.append("\(SetupPaths.site) exists, was changed by an administrator, and stays unchanged")
        if let text = host.site, let form = SiteText.form(of: text), form != host.http2Form {
            remaining.append(SiteText.advice(for: host.http2Form))
        }
        let files = SiteText.files(of: answers.certificate, host: answers.host)
        if let balancers = answers.balancers, balancers != site.balancers {
            remaining.append(
                "\(SetupPaths.site) was changed by an administrator and stays unchanged. Change its listeners, and "
                    + "the senders of the PROXY protocol, by hand: \(SetupPaths.siteTemplate) contains the lines.")
        }
        if site.host != answers.host || site.certificate != answers.certificate {
            remaining.append(
                """
                \(SetupPaths.site) was changed by an administrator and stays unchanged. Add these lines by hand, and \
                run `nginx -t && systemctl reload nginx`:
                  server_name \(answers.host);
                  ssl_certificate \(files.certificate);
                  ssl_certificate_key \(files.key);
                """)
        }
        if !site.isMonitored {
            remaining.append(
                "\(SetupPaths.site) does not include the page for this host's monitoring: add the line `include "
                    + "syncd/syncd-metrics.conf;` outside all blocks, and run `nginx -t && systemctl reload nginx`.")
        }
    }

    /// At the end, with the server running, because obtaining a certificate may fail or take a long time.
    mutating func planCertificate(_ answers: SetupAnswers, _ host: HostState) {
        guard !host.hasCertificate, answers.certificate != .ownAuthority else { return }
        let files = SiteText.files(of: answers.certificate, host: answers.host)
        switch (answers.certificate, answers.certificateRequest) {
        case (.letsEncrypt, let request?): actions.append(.obtainCertificate(request))
        case (.letsEncrypt, nil):
            remaining.append(
                """
                Obtain a certificate: apt install certbot, and then run this setup again with --certbot; or first run
                  certbot certonly --webroot --webroot-path \(SetupPaths.webroot) --domain \(answers.host) \
                --deploy-hook 'systemctl reload nginx'
                """)
        case (.files, _), (.ownAuthority, _):
            remaining.append(
                "Store the certificate in \(files.certificate) and its key in \(files.key), and run this setup again."
            )
        }
    }

    /// Adds the final requests to the server, as far as it has to answer.
    mutating func planChecks(_ answers: SetupAnswers, _ host: HostState, site: SitePresence) {
        let keepsMetrics = host.configuration.map { $0.keepsMetrics || !$0.hasMetrics } ?? true
        if site.isMonitored, keepsMetrics { actions.append(.check(.monitoring)) }
        if host.hasCertificate || answers.certificate == .ownAuthority, site.host == answers.host {
            actions.append(.check(.health))
        }
    }
}
